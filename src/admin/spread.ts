/**
 * A tenant's objects as one [S1]: what an operator asks goes to all of them, and their answers are put together. A tenant
 * with one object is that object.
 */
import type {
  DeadLetterQuery,
  EventPage,
  EventQuery,
  JobAnswer,
  JobCall,
  JobView,
  TenantBufferCalls,
  TenantObjects,
  TenantStats,
} from "../buffer/contract.ts";
import { mergedEvents, mergedJobs, mergedStats } from "./spread-merge.ts";

/** The calls that concern all objects of a tenant alike. */
export type SpreadCalls = Pick<
  TenantBufferCalls,
  | "stats"
  | "drain"
  | "pause"
  | "resume"
  | "event"
  | "body"
  | "deadLetters"
  | "redrive"
  | "startJob"
  | "job"
  | "cancelJob"
  | "events"
  | "giveUpEvent"
>;

/** The objects of a tenant, or null where there is no such tenant. One call to the first object. */
export async function spreadOf(objects: TenantObjects, tenant: string, limitMs: number): Promise<SpreadCalls | null> {
  const first = objects.of(tenant, limitMs);
  const record = await first.readConfig();
  if (record === null || record.state === "deleted") return null;
  const { objectCount = 1 } = record;
  if (objectCount === 1) return first;
  return new Spread(Array.from({ length: objectCount }, (_, shard) => objects.of(tenant, limitMs, shard)));
}

class Spread implements SpreadCalls {
  readonly #objects: readonly TenantBufferCalls[];

  constructor(objects: readonly TenantBufferCalls[]) {
    this.#objects = objects;
  }

  async stats(): Promise<TenantStats | null> {
    return mergedStats(await this.#all((object) => object.stats()));
  }

  async drain() {
    await this.#all((object) => object.drain());
    return { drained: true } as const;
  }

  async pause(destination: string) {
    return (await this.#all((object) => object.pause(destination))).includes(true);
  }

  async resume(destination: string) {
    return (await this.#all((object) => object.resume(destination))).includes(true);
  }

  async event(eventId: string) {
    return (await this.#all((object) => object.event(eventId))).find((event) => event !== null) ?? null;
  }

  async body(eventId: string) {
    const answers = await this.#all((object) => object.body(eventId));
    return (
      answers.find((answer) => answer.kind === "body") ??
      answers.find((answer) => answer.kind === "expired") ?? { kind: "not-found" as const }
    );
  }

  /** Object after object; the cursor names the one to go on with. */
  async deadLetters(query: DeadLetterQuery) {
    const [, number, rest] = /^(\d+):(.*)$/.exec(query.cursor ?? "0:") ?? [];
    const shard = Number(number ?? 0);
    const object = this.#objects[shard];
    if (object === undefined) return { items: [], cursor: null };
    const page = await object.deadLetters({ ...query, cursor: rest === undefined || rest === "" ? null : rest });
    if (page === null) return null;
    if (page.cursor !== null) return { items: page.items, cursor: `${shard}:${page.cursor}` };
    return { items: page.items, cursor: shard + 1 < this.#objects.length ? `${shard + 1}:` : null };
  }

  async redrive(call: { readonly destination: string; readonly ids: readonly string[]; readonly dryRun: boolean }) {
    const answers = (await this.#all((object) => object.redrive(call))).filter((answer) => answer !== null);
    return answers.length === 0 ? null : { count: answers.reduce((sum, answer) => sum + answer.count, 0) };
  }

  async startJob(call: JobCall): Promise<JobAnswer> {
    const answers = await this.#all((object) => object.startJob({ ...call, id: call.id ?? crypto.randomUUID() }));
    const refused = answers.find((answer) => answer.kind === "no-such-destination");
    if (refused !== undefined) return refused;
    const started = answers.filter((answer) => answer.kind === "started");
    const job = started.find((answer) => answer.job !== null)?.job ?? null;
    return { kind: "started", job, count: started.reduce((sum, answer) => sum + answer.count, 0) };
  }

  async job(id: string): Promise<JobView | null> {
    return mergedJobs(await this.#all((object) => object.job(id)));
  }

  async cancelJob(id: string): Promise<JobView | null> {
    return mergedJobs(await this.#all((object) => object.cancelJob(id)));
  }

  async events(query: EventQuery): Promise<EventPage | null> {
    const cursors = query.cursor === null ? [] : query.cursor.split(",");
    const pages = await Promise.all(
      this.#objects.map((object, shard) => {
        const cursor = cursors[shard] ?? "";
        return cursor === "-" ? null : object.events({ ...query, cursor: cursor === "" ? null : cursor });
      }),
    );
    return mergedEvents(pages, cursors, query.limit);
  }

  async giveUpEvent(call: { readonly eventId: string; readonly destination: string }) {
    const answers = (await this.#all((object) => object.giveUpEvent(call))).filter((answer) => answer !== null);
    return answers.length === 0 ? null : answers.includes(true);
  }

  #all<T>(call: (object: TenantBufferCalls) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#objects.map(call));
  }
}
