/** The bytes of an event that came as a claim [V19]: by RPC from the object that holds it. */
import type { BodyAnswer, TenantObjects } from "../buffer/contract.ts";
import { unreachable } from "../core/assert.ts";
import { withinLimit } from "../core/in-time.ts";
import type { LargeBody } from "../core/large-body.ts";
import type { ParsedMessage } from "./message.ts";

/** How long the runtime may go on trying to reach an object: a message can wait. */
export const OBJECT_LIMIT_MS = 10_000;

/** An object that has not answered by then is asked again with the message's next try: others must not wait for it. */
const ANSWER_LIMIT_MS = 15_000;

/** What an object or KV answers; throws where it does not in good time. */
export function answered<T>(asked: Promise<T>): Promise<T> {
  return withinLimit(asked, ANSWER_LIMIT_MS);
}

/** null: they are gone for good. Throws where the object cannot be asked. */
export async function fetchClaim(
  objects: TenantObjects,
  message: ParsedMessage,
): Promise<Uint8Array | LargeBody | null> {
  const ask = () => answered(objects.of(message.tenant, OBJECT_LIMIT_MS, message.shard).body(message.id));
  const answer = await ask();
  switch (answer.kind) {
    case "body":
      return answer.body;
    case "stream":
      // Sending reads it twice: each time it is asked for anew.
      await answer.stream.cancel();
      return { sizeBytes: answer.sizeBytes, isText: false, pieces: () => pieces(ask), hold: () => () => {} };
    case "not-found":
    case "expired":
      return null;
    default:
      return unreachable(answer);
  }
}

async function* pieces(ask: () => Promise<BodyAnswer>): AsyncGenerator<Uint8Array> {
  const answer = await ask();
  if (answer.kind !== "stream") throw new Error("a claimed body is gone");
  yield* answer.stream;
}
