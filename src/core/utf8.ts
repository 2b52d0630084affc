/**
 * Whether bytes are UTF-8 (Unicode, table 3-7). Looked at where they lie: decoding a body of 25 MiB to find out would make
 * a text of its size.
 */
export function isUtf8(bytes: Uint8Array): boolean {
  /** Bytes of the character that are still to come, and where the next of them must lie. */
  let left = 0;
  let least = 0x80;
  let most = 0xbf;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (left === 0) {
      if (byte < 0x80) continue;
      if (byte < 0xc2 || byte > 0xf4) return false;
      left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      // No longer form than is needed, no surrogates, nothing beyond U+10FFFF.
      if (byte === 0xe0) least = 0xa0;
      else if (byte === 0xed) most = 0x9f;
      else if (byte === 0xf0) least = 0x90;
      else if (byte === 0xf4) most = 0x8f;
      continue;
    }
    if (byte < least || byte > most) return false;
    left -= 1;
    least = 0x80;
    most = 0xbf;
  }
  return left === 0;
}
