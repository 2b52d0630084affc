/**
 * A text as a header value: visible ASCII stands as it is, everything else, and `%`, is percent-encoded as UTF-8, so
 * that `decodeURIComponent` gives the text back.
 */
export function headerText(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]|%/gu, (char) => encodeURIComponent(char));
}

/** An event or batch id as `webhook-id`: every character outside `[A-Za-z0-9_:~-]` percent-encoded, never a dot [D8]. */
export function webhookId(id: string): string {
  return id.replace(/[^A-Za-z0-9_:~-]/gu, percentEncoded);
}

const encoder = new TextEncoder();

function percentEncoded(char: string): string {
  return Array.from(encoder.encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
