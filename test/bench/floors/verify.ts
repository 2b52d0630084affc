/** What every floor that checks signatures does: hex HMAC-SHA256 of the body in `X-Signature`, the key imported once. */
let key: Promise<CryptoKey> | undefined;

export async function isGenuine(request: Request, body: ArrayBuffer, secret: string): Promise<boolean> {
  key ??= crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const signature = Uint8Array.fromHex(request.headers.get("X-Signature") ?? "");
  return crypto.subtle.verify("HMAC", await key, signature, body);
}
