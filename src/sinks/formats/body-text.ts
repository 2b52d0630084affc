const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The text whose UTF-8 encoding is exactly these bytes, a byte order mark included, or null where there is none [I3].
 */
export function bodyText(body: Uint8Array): string | null {
  try {
    return decoder.decode(body);
  } catch {
    return null;
  }
}
