/** Who sends, and since when who is silent [O9]; written down only where an operator wants to know. */
import type { SourceFacts } from "../core/alert-rules.ts";
import type { Log } from "../log/log.ts";
import type { TenantConfig } from "../tenants/config.ts";

/** The share of the silence that may be lost with the object's memory: so far the stored time may be behind. */
const WRITE_SHARE = 0.1;

export class SourcesOnAir {
  readonly #log: Log;
  #sources: readonly SourceFacts[] = [];
  #silentMs: number | null = null;
  readonly #heardAtMs = new Map<string, number>();
  readonly #storedAtMs = new Map<string, number>();
  readonly #behind = new Set<string>();

  constructor(log: Log, config: TenantConfig, nowMs: number) {
    this.#log = log;
    this.reconfigure(config, nowMs);
  }

  get silentMs(): number | null {
    return this.#silentMs;
  }

  reconfigure(config: TenantConfig, nowMs: number): void {
    const seconds = config.alerts?.silentSourceSeconds ?? null;
    const isNew = this.#silentMs === null && seconds !== null;
    this.#silentMs = seconds === null ? null : seconds * 1_000;
    if (isNew) {
      for (const [source, atMs] of this.#log.heard.read()) {
        this.#storedAtMs.set(source, atMs);
        // What memory knew and did not write counts in favour of the source.
        const heardAtMs = Math.min(nowMs, atMs + this.#slackMs());
        this.#heardAtMs.set(source, Math.max(this.#heardAtMs.get(source) ?? 0, heardAtMs));
      }
    }
    this.#sources = Object.entries(config.sources).map(([id, source]) => {
      // A source that was never heard is silent since it is known.
      if (!this.#heardAtMs.has(id)) this.heard(id, nowMs);
      const retirementsMs = source.secrets.flatMap((secret) => secret.retiresAtMs ?? []);
      return { id, retirementsMs, heardAtMs: 0 };
    });
  }

  heard(source: string, nowMs: number): void {
    this.#heardAtMs.set(source, nowMs);
    if (this.#silentMs !== null && nowMs - (this.#storedAtMs.get(source) ?? 0) > this.#slackMs())
      this.#behind.add(source);
  }

  facts(): SourceFacts[] {
    return this.#sources.map((each) => ({ ...each, heardAtMs: this.#heardAtMs.get(each.id) ?? 0 }));
  }

  isWriteDue(): boolean {
    return this.#behind.size > 0;
  }

  /** Within the caller's transaction; true when something was written. */
  write(): boolean {
    const isDue = this.isWriteDue();
    for (const source of this.#behind) {
      const heardAtMs = this.#heardAtMs.get(source) ?? 0;
      this.#log.heard.write(source, heardAtMs);
      this.#storedAtMs.set(source, heardAtMs);
    }
    this.#behind.clear();
    return isDue;
  }

  #slackMs(): number {
    return (this.#silentMs ?? 0) * WRITE_SHARE;
  }
}
