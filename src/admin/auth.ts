import { utf8 } from "../providers/bytes.ts";
import { digest, equalDigests } from "../providers/crypto.ts";

/**
 * Whether a request carries the admin token as a bearer token [O1]. Both sides are hashed first, so that neither the
 * place of the first difference nor the length shows in the time it takes. No token configured: never.
 */
export async function isAdmin(headers: Headers, adminToken: string | null): Promise<boolean> {
  const match = /^bearer +([\x21-\x7e]{1,4096})$/i.exec(headers.get("authorization") ?? "");
  if (adminToken === null || match?.[1] === undefined) return false;
  const [given, expected] = await Promise.all([digest("SHA-256", utf8(match[1])), digest("SHA-256", utf8(adminToken))]);
  return equalDigests(given, expected);
}
