/** Thrown where this program, not its input, is wrong. */
class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Says what must hold; a message names the thing that did not. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** The end of an exhaustive `switch`: the compiler refuses a case that was forgotten. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable case: ${JSON.stringify(value)}`);
}
