/** All objects of a tenant, those of earlier layouts too: their deaths, and their alarms in the order of time. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { TenantBufferCalls } from "../../../src/buffer/contract.ts";
import { moveClock } from "../clock.ts";
import { bindings } from "../tenant.ts";

/** Of all objects together, however little comes of them: more, and one is due again and again for nothing. */
const RUNS_IN_A_MINUTE_MAX = 300;
const MINUTE_MS = 60_000;

type Stub = ReturnType<typeof bindings.TENANT_BUFFER.getByName>;

export class Objects {
  readonly #tenant: string;
  #count = 1;

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  /** There are at least so many from now on. */
  grow(count: number): void {
    this.#count = Math.max(this.#count, count);
  }

  async evict(): Promise<void> {
    for (const stub of this.#stubs()) {
      // One that is not in memory cannot be taken out of it.
      await (stub as unknown as TenantBufferCalls).readConfig();
      await evictDurableObject(stub);
    }
  }

  async crash(): Promise<void> {
    for (const stub of this.#stubs()) {
      await runInDurableObject(stub, (_, state) => state.abort("killed by the test")).catch(() => {});
    }
  }

  /** Lets the alarm that is due first go off, however far ahead it is. */
  async runNext(): Promise<void> {
    const next = await this.#next();
    if (next !== null) await runDurableObjectAlarm(next.stub);
  }

  /** Time passes, and each alarm goes off when it is due. */
  async pass(ms: number): Promise<void> {
    const endMs = Date.now() + ms;
    let minuteMs = Date.now();
    for (let runs = 0; ; runs += 1) {
      const next = await this.#next();
      if (next === null || next.atMs > endMs) break;
      if (next.atMs >= minuteMs + MINUTE_MS) {
        minuteMs = next.atMs;
        runs = 0;
      }
      if (runs >= RUNS_IN_A_MINUTE_MAX) throw new Error(`${runs} runs in less than a minute`);
      if (next.atMs > Date.now()) moveClock(next.atMs - Date.now());
      await runDurableObjectAlarm(next.stub);
    }
    if (endMs > Date.now()) moveClock(endMs - Date.now());
  }

  async #next(): Promise<{ readonly stub: Stub; readonly atMs: number } | null> {
    let next: { readonly stub: Stub; readonly atMs: number } | null = null;
    for (const stub of this.#stubs()) {
      const atMs = await runInDurableObject(stub, (_, state) => state.storage.getAlarm());
      if (atMs !== null && (next === null || atMs < next.atMs)) next = { stub, atMs };
    }
    return next;
  }

  #stubs(): Stub[] {
    return Array.from({ length: this.#count }, (_, shard) =>
      bindings.TENANT_BUFFER.getByName(shard === 0 ? this.#tenant : `${this.#tenant}.${shard}`),
    );
  }
}
