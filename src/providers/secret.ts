import { fail, ok, type Result } from "../core/result.ts";
import { keyBytes } from "./key-bytes.ts";
import { publicKeyLayout } from "./public-keys.ts";
import type { ProviderRow } from "./row.ts";

const SHORT_SECRET_BYTES = 16;

/** Whether a source of this provider needs a secret of its own: not where the provider publishes its keys. */
export function secretIsNeeded(row: ProviderRow): boolean {
  const { scheme } = row;
  if (scheme.kind === "public-key") return scheme.certificateFrom === undefined;
  if (scheme.kind === "jwt") return scheme.keysFrom === undefined;
  return true;
}

/** Whether the provider itself hands over the secret, in the window of `expect-handshake` [I7]. */
export function secretIsHandedOver(row: ProviderRow): boolean {
  return row.handshakes.some((handshake) => handshake.kind === "store-secret");
}

/** Whether the operator has to type the handed-over secret in at the provider, which shows it nowhere itself (Notion). */
export function secretIsTypedIn(row: ProviderRow): boolean {
  return row.handshakes.some((handshake) => handshake.kind === "store-secret" && handshake.echoHeader === undefined);
}

interface SecretCheck {
  readonly warnings: readonly string[];
}

/**
 * Checks a secret when it is saved, strictly in the form the provider uses: what is wrong here would otherwise be a
 * silent 401 later. The detail never repeats the secret.
 */
export function checkSecret(row: ProviderRow, secret: string): Result<SecretCheck, "wrong-form"> {
  if (secret.trim() === "") return fail("wrong-form", "is empty");
  if (secret.length > 16_384) return fail("wrong-form", "is longer than 16,384 characters");
  const isPem = secret.trimStart().startsWith("-----BEGIN ");
  if (!isPem && secret.trim() !== secret) {
    return fail("wrong-form", "has white space at its beginning or end (often a line end that was copied along)");
  }
  const { scheme } = row;
  switch (scheme.kind) {
    case "hmac": {
      const bytes = keyBytes(scheme.key, secret);
      return bytes.ok ? ok({ warnings: shortWarning(bytes.value.length) }) : bytes;
    }
    case "public-key": {
      const layout = publicKeyLayout(scheme.key, secret);
      return layout.ok ? ok({ warnings: [] }) : layout;
    }
    case "jwt": {
      if (scheme.algorithm.startsWith("HS")) return ok({ warnings: shortWarning(secret.length) });
      const layout = publicKeyLayout("public-key", secret);
      return layout.ok ? ok({ warnings: [] }) : layout;
    }
    case "digest":
    case "token":
    case "token-list":
      return ok({ warnings: shortWarning(secret.length) });
  }
}

function shortWarning(sizeBytes: number): string[] {
  return sizeBytes < SHORT_SECRET_BYTES ? [`is only ${sizeBytes} bytes long: short secrets can be guessed`] : [];
}

/** What a source of this provider lacks, a sentence each, beside its secrets; empty: nothing. */
export function checkParams(
  row: ProviderRow,
  params: Readonly<Record<string, string>>,
  hasSecret: boolean,
): readonly { readonly name: string; readonly problem: string }[] {
  const problems: { name: string; problem: string }[] = [];
  for (const { name, needed, about } of row.params ?? []) {
    const given = Object.hasOwn(params, name) && params[name] !== "";
    const wanted = needed === "always" || (needed === "without-secret" && !hasSecret);
    if (wanted && !given) problems.push({ name, problem: `is needed: ${about}` });
  }
  for (const [name, value] of Object.entries(params)) {
    if (!(row.params ?? []).some((fact) => fact.name === name)) {
      problems.push({ name, problem: `is no parameter of ${row.name}` });
    } else if (row.scheme.kind === "token" && (name === "header" || name === "query")) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(value)) problems.push({ name, problem: "is not a plain name" });
    }
  }
  return problems;
}
