import type { Handshake } from "../../src/providers/handshakes/handshake.ts";
import type { ProviderRow } from "../../src/providers/row.ts";

/** The table's shorthand in words. */

export const code = (text: string): string => `\`${text}\``;

/** `header:x-id` → header `x-id`. */
export function place(ref: string): string {
  const bare = ref.replace(/\?$/, "");
  const name = bare.slice(bare.indexOf(":") + 1);
  switch (bare.slice(0, bare.indexOf(":"))) {
    case "header":
      return `header ${code(name)}`;
    case "headers":
      return `headers ${code(name)}`;
    case "header-json":
      return `${code(name)} inside a header's JSON`;
    case "json":
      return name === "" ? "the JSON body" : `${code(name)} of the JSON body`;
    case "form":
      return `form field ${code(name)}`;
    case "form-json":
      return `${code(name)} inside a form field`;
    case "query":
      return `URL parameter ${code(name)}`;
    case "item":
      return `${code(name)} of each item`;
    case "field":
      return `field ${code(name)} of the signature header`;
    default:
      return code(bare);
  }
}

export function duration(seconds: number): string {
  if (seconds >= 172_800) return `${round(seconds / 86_400)} days`;
  if (seconds >= 7_200) return `${round(seconds / 3_600)} hours`;
  if (seconds >= 120) return `${round(seconds / 60)} minutes`;
  return seconds === 1 ? "1 second" : `${round(seconds)} seconds`;
}

const round = (value: number): string => String(Number(value.toFixed(1)));

export function handshakeWords(handshake: Handshake): string {
  switch (handshake.kind) {
    case "echo-query":
      return `${handshake.method} with ${code(handshake.param)}: it comes back as plain text`;
    case "verify-token":
      return `GET with ${code(handshake.token)} equal to the source's \`verifyToken\`: ${code(handshake.challenge)} comes back`;
    case "echo-json":
      return `a question in the body${handshake.proof === "signature" ? ", signed like an event" : ""}: its challenge comes back`;
    case "echo-header":
      return `${handshake.method} with header ${code(handshake.header)}: it comes back`;
    case "hmac-json":
      return "a signed question in the body: its text and that text's HMAC come back";
    case "hmac-query":
      return `GET with ${code(handshake.param)}: its HMAC comes back`;
    case "digest-query":
      return `GET with ${code(handshake.param)}: the hash of it, the \`verifyToken\` and the URL comes back`;
    case "ping":
      return `a signed ping: ${handshake.answer.status}`;
    case "store-secret":
      return "the provider hands over the secret: open the window with `expect-handshake` first";
    case "confirm-subscription":
      return "a signed message with an address that is fetched, if it is the provider's";
    case "probe":
      return `${handshake.methods.join(" or ")}: 200`;
    case "allow-origin":
      return "OPTIONS with `WebHook-Request-Origin`: allowed";
    case "unsigned-ping":
      return "one unsigned first request of a fixed form: 200, and nothing is stored";
  }
}

export function answerWords({ answer }: ProviderRow): string {
  const { status, body } = answer.success;
  const what = body === "status" ? "with a small JSON" : body === "none" ? "without a body" : `with ${code(body.text)}`;
  return `${status} ${what}; over the limit ${answer.overLimitStatus}`;
}

export function retryWords({ retry }: ProviderRow): string {
  if (retry.is === "assumed" && retry.forSeconds === 0) return "not published; taken as never";
  if (retry.forSeconds === 0) return "never";
  const tries = retry.tries === null ? "" : `, ${retry.tries} times`;
  return `for ${duration(retry.forSeconds)}${tries}${retry.is === "assumed" ? " (assumed)" : ""}`;
}
