import { sha256Hex } from "./signing.ts";

/**
 * The id of a batch [V4]: the same destination, events (in this order) and job give the same id, in every process and
 * at any time, so that a batch repeated unchanged can be recognised.
 *
 * @param destination names it among all that may share an origin; two tenants' ids must not meet, so give both names
 * @param job the redrive, or the replaying call, that sends these events; absent for their first way out
 */
export async function batchId(destination: string, eventIds: readonly string[], job?: string): Promise<string> {
  const digest = await sha256Hex(JSON.stringify([destination, job ?? null, eventIds]));
  return `batch_${digest.slice(0, 32)}`;
}
