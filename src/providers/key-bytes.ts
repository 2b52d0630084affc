import { fail, ok, type Result } from "../core/result.ts";
import { bytesFromBase64, bytesFromHex, utf8 } from "./bytes.ts";
import type { KeyForm } from "./scheme.ts";

const WHSEC = "whsec_";

/**
 * The bytes a secret stands for, read strictly in the form its provider uses: the rule belongs to the provider, not to
 * the look of the text. For `sha1` these are the bytes before the hash.
 */
export function keyBytes(form: KeyForm, secret: string): Result<Uint8Array<ArrayBuffer>, "wrong-form"> {
  switch (form) {
    case "utf8":
    case "sha1":
      return nonEmpty(utf8(secret), "is empty");
    case "hex":
      return nonEmpty(bytesFromHex(secret), "is not hexadecimal (an even number of 0-9, a-f)");
    case "base64":
      return nonEmpty(bytesFromBase64(secret), "is not base64 with its padding (A-Z, a-z, 0-9, +, /, =)");
    case "whsec":
      return fromWhsec(secret);
    case "whsec-or-utf8":
      return secret.startsWith(WHSEC) ? fromWhsec(secret) : nonEmpty(utf8(secret), "is empty");
  }
}

function fromWhsec(secret: string): Result<Uint8Array<ArrayBuffer>, "wrong-form"> {
  const digits = secret.startsWith(WHSEC) ? secret.slice(WHSEC.length) : secret;
  return nonEmpty(bytesFromBase64(digits), "is not base64 with its padding after an optional whsec_");
}

function nonEmpty(bytes: Uint8Array<ArrayBuffer> | null, fault: string): Result<Uint8Array<ArrayBuffer>, "wrong-form"> {
  return bytes === null || bytes.length === 0 ? fail("wrong-form", fault) : ok(bytes);
}
