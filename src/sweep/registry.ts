/**
 * The objects that have something to do, one KV key each [V20](f): entered by the Worker when an object says that it had
 * been idle, removed by the sweep when it is idle again.
 */
import { listKeys } from "../tenants/kv-keys.ts";
import type { SweepKv } from "./sweep-kv.ts";

const PREFIX = "registry:";

export interface Registered {
  readonly object: string;
  /** When it was entered. */
  readonly sinceMs: number;
}

/** Enters an object; again where it is entered already. Throws when KV fails: the next idle hour, or day, mends it. */
export async function enterRegistry(kv: SweepKv, object: string, nowMs: number): Promise<void> {
  await kv.put(PREFIX + object, "", { metadata: { sinceMs: nowMs } });
}

export async function leaveRegistry(kv: SweepKv, object: string): Promise<void> {
  await kv.delete(PREFIX + object);
}

export async function readRegistry(kv: SweepKv): Promise<Registered[]> {
  const keys = await listKeys(kv, PREFIX);
  return keys.map(({ name, metadata }) => ({ object: name, sinceMs: sinceOf(metadata) }));
}

function sinceOf(metadata: unknown): number {
  const since = typeof metadata === "object" && metadata !== null && "sinceMs" in metadata ? metadata.sinceMs : 0;
  return typeof since === "number" ? since : 0;
}
