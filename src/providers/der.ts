/** One element of a DER encoding: where it starts, where its content starts, where it ends. */
interface DerElement {
  readonly tag: number;
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

/** The element at an offset, or `null` where the bytes do not hold a whole one. */
export function derElement(bytes: Uint8Array, start: number): DerElement | null {
  const tag = bytes[start];
  const first = bytes[start + 1];
  if (tag === undefined || first === undefined) return null;
  let length = first;
  let content = start + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 3) return null;
    length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + (bytes[content + i] ?? Number.NaN);
    content += count;
  }
  const end = content + length;
  return end <= bytes.length ? { tag, start, content, end } : null;
}

export function derChildren(bytes: Uint8Array, parent: DerElement): DerElement[] {
  const children: DerElement[] = [];
  let at = parent.content;
  while (at < parent.end) {
    const child = derElement(bytes, at);
    if (child === null || child.end > parent.end) break;
    children.push(child);
    at = child.end;
  }
  return children;
}

const P256_NUMBER_BYTES = 32;

/**
 * An ECDSA signature over P-256 as WebCrypto wants it, r ‖ s, from DER; `null` where the bytes are no such signature.
 * Strict: shortest lengths, nothing behind.
 */
export function rawP256Signature(der: Uint8Array): Uint8Array<ArrayBuffer> | null {
  const sequence = derElement(der, 0);
  if (sequence === null || sequence.tag !== 0x30 || sequence.end !== der.length) return null;
  const numbers = derChildren(der, sequence);
  const [r, s] = numbers;
  if (numbers.length !== 2 || r === undefined || s === undefined || s.end !== sequence.end) return null;
  const raw = new Uint8Array(2 * P256_NUMBER_BYTES);
  for (const [index, number] of [r, s].entries()) {
    if (number.tag !== 0x02) return null;
    let bytes = der.subarray(number.content, number.end);
    if (bytes.length > 1 && bytes[0] === 0) bytes = bytes.subarray(1);
    if (bytes.length === 0 || bytes.length > P256_NUMBER_BYTES) return null;
    raw.set(bytes, (index + 1) * P256_NUMBER_BYTES - bytes.length);
  }
  return raw;
}
