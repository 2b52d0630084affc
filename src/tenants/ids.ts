const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Names that mean something to JavaScript objects; nothing may be called so, wherever it is looked up. */
const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Whether `text` may name a tenant, a source or a destination [I1]. Looked at as it stands in a path, undecoded. */
export function isId(text: string): boolean {
  return ID.test(text) && !RESERVED.has(text);
}
