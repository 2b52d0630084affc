/** What the sender of a handshake hears. */
export interface HandshakeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `null`: no bytes. */
  readonly body: string | null;
  /**
   * The provider hands over this secret. The answer may be sent only after the source has taken it, in its open
   * window [I7]; otherwise the request is rejected.
   */
  readonly storeSecret?: string;
}

const CHALLENGE_LENGTH_MAX = 1_024;

/** Whether a challenge may come back: not empty, at most 1 KB, and of the provider's alphabet only [P3]. */
export function isEchoable(text: string | null, alphabet: string, lengthMax = CHALLENGE_LENGTH_MAX): text is string {
  if (text === null || text === "" || text.length > Math.min(lengthMax, CHALLENGE_LENGTH_MAX)) return false;
  return new RegExp(`^[${alphabet}]+$`).test(text);
}

/** Plain text that no browser takes for anything else. */
export function textAnswer(text: string): HandshakeAnswer {
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: text,
  };
}

export function jsonAnswer(value: Readonly<Record<string, string | number>>, status = 200): HandshakeAnswer {
  return {
    status,
    headers: { "content-type": "application/json", "x-content-type-options": "nosniff" },
    body: JSON.stringify(value),
  };
}

export function emptyAnswer(status = 200, headers: Readonly<Record<string, string>> = {}): HandshakeAnswer {
  return { status, headers, body: null };
}
