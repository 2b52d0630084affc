/** A tenant to which commands happen, and the small model that says what may come of them. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { EventLine, EventState, TenantStats } from "../../../src/buffer/contract.ts";
import { moveClock } from "../clock.ts";
import { gate, type Origin, status } from "../origin.ts";
import { admin, bindings, isBalanced, Tenant } from "../tenant.ts";
import { type Command, DESTINATIONS, type DestinationName, type Mood, type Shape } from "./commands.ts";

const START: Shape = {
  some: true,
  someFilter: "x",
  ordering: "relaxed",
  maxInFlight: 1,
  maxAttempts: 3,
  fromOldest: false,
};

/** The moves of the ledger [X5] that a kind of command may cause by itself; what a run does is allowed wherever one may be on. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  run: ["backlog>delivered", "backlog>dead", "backlog>filtered", "dead>expired"],
  duplicate: ["dead>backlog", "expired>backlog"],
  redrive: ["dead>backlog", "expired>backlog"],
  purge: ["dead>purged"],
  replay: ["delivered>backlog", "filtered>backlog", "not-offered>backlog"],
  erase: ["backlog>erased", "dead>erased", "backlog>filtered"],
  "give-up": ["backlog>dead"],
};

type States = ReadonlyMap<string, Readonly<Record<string, EventState>>>;

export class World {
  readonly #tenant = new Tenant(`t-${crypto.randomUUID()}`);
  readonly #origin: Origin;
  /** Ids the tenant answered 202 for. */
  readonly #ids: string[] = [];
  readonly #erased = new Set<string>();
  readonly #types: Map<string, "x" | "y">;
  #shape = START;
  #shards = 1;
  #objects = 1;
  #mood: Mood = "accept";
  #next = 0;
  #states: States = new Map();

  constructor(origin: Origin, types: Map<string, "x" | "y"> = new Map()) {
    this.#origin = origin;
    this.#types = types;
    origin.answer = (_request, events) => this.#answer(events.map((event) => event.id));
  }

  async begin(): Promise<void> {
    await this.#tenant.reconfigure(this.#config());
  }

  /** Does it, and checks that the ledger balances and that nothing moved that should not. */
  async happen(command: Command): Promise<void> {
    await this.#do(command);
    await this.#check(command);
  }

  /** The origin is well again and nothing is off: all that waits arrives. */
  async end(): Promise<void> {
    await this.happen({ kind: "mood", mood: "accept" });
    for (const destination of this.#destinations()) await this.happen({ kind: "resume", destination });
    for (let turn = 0; turn < 6; turn += 1) await this.happen({ kind: "time", ms: 3_600_000 });
    const { destinations } = await this.#tenant.stats();
    for (const [name, ledger] of Object.entries(destinations)) {
      if (ledger.backlog !== 0) throw new Error(`${name} still has a backlog: ${JSON.stringify(ledger)}`);
    }
    for (const id of this.#ids) {
      for (const [name, state] of Object.entries(this.#states.get(id) ?? {})) {
        if (state !== "delivered") continue;
        const got = this.#origin.exchanges.some(
          (each) => each.url.endsWith(`/${name}`) && each.status === 200 && each.ids.includes(id),
        );
        if (!got) throw new Error(`${id} counts as delivered to ${name}, which never took it`);
      }
    }
  }

  async #do(command: Command): Promise<void> {
    switch (command.kind) {
      case "accept":
        for (let index = 0; index < command.count; index += 1) await this.#accept(command.type);
        return;
      case "duplicate":
        return this.#duplicate(command.at);
      case "mood":
        this.#mood = command.mood;
        return;
      case "run":
        return this.#runDue();
      case "time":
        return this.#pass(command.ms);
      case "evict":
        return this.#tenant.evict();
      case "crash":
        return this.#crash();
      case "pause":
      case "resume":
        await this.#tenant.admin("POST", `/destinations/${command.destination}/${command.kind}`);
        return;
      case "drain":
        await this.#tenant.admin("POST", "/drain");
        return;
      case "redrive":
      case "purge": {
        const { destination, at } = command;
        const which = at === "all" ? { all: true } : { ids: [this.#pick(at)] };
        await this.#expectOk("POST", `/dead-letters/${command.kind}`, { destination, ...which });
        if (at === "all") await this.#runDue();
        return;
      }
      case "replay": {
        const { destination } = command;
        const destinations = destination === null ? {} : { destinations: [destination] };
        const ids = [this.#pick(command.at)];
        await this.#expectOk("POST", "/events/replay", { ...destinations, ids });
        return;
      }
      case "erase":
        await this.#expectOk("POST", "/events/erase", { ids: [this.#pick(command.at)] });
        this.#erased.add(this.#pick(command.at));
        return;
      case "give-up": {
        const path = `/events/${encodeURIComponent(this.#pick(command.at))}/dead-letter`;
        await this.#expectOk("POST", path, { destination: command.destination });
        return;
      }
      case "reshard":
        return this.#configure(this.#shape, command.shards);
      case "reconfigure":
        return this.#configure(command.shape, this.#shards);
      case "in-flight":
        return this.#inFlight(command);
    }
  }

  async #accept(type: "x" | "y"): Promise<void> {
    const name = `e${this.#next}`;
    this.#next += 1;
    const response = await this.#tenant.post(name, "{}", { "x-event-type": type });
    if (response.status !== 202) throw new Error(`${name} was answered ${response.status}: ${await response.text()}`);
    this.#ids.push(`in:${name}`);
    this.#types.set(`in:${name}`, type);
  }

  async #duplicate(at: number): Promise<void> {
    const id = this.#pick(at);
    const type = this.#types.get(id) ?? "x";
    const response = await this.#tenant.post(id.slice("in:".length), "{}", { "x-event-type": type });
    const answer = (await response.json()) as { status: string };
    if (answer.status !== "deduplicated" && answer.status !== "reopened") {
      throw new Error(`a repeat of ${id} was answered ${response.status} ${JSON.stringify(answer)}`);
    }
  }

  /** A request is on its way while other things happen; then it is answered, or its object is gone. */
  async #inFlight(command: Extract<Command, { kind: "in-flight" }>): Promise<void> {
    const held = gate();
    const { answer } = this.#origin;
    const before = this.#origin.requests.length;
    this.#origin.answer = () => held.answer;
    let isOver = false;
    moveClock(1);
    const run = this.#tenant
      .runAlarm()
      .catch(() => false)
      .then(() => {
        isOver = true;
      });
    while (!isOver && this.#origin.requests.length === before) await scheduler.wait(1);
    for (const during of command.during) await this.#do(during);
    if (command.end === "crash") {
      await this.#crash();
      this.#origin.answer = answer;
      held.open(status(204));
    } else {
      this.#origin.answer = answer;
      const ids = this.#origin.requests.length === before ? [] : this.#lastIds();
      held.open(this.#answer(ids));
    }
    await run;
  }

  #lastIds(): string[] {
    const body = this.#origin.requests.at(-1)?.body ?? new Uint8Array();
    const { events } = JSON.parse(new TextDecoder().decode(body)) as { events: { id: string }[] };
    return events.map((event) => event.id);
  }

  #answer(ids: readonly string[]): Response | never {
    const isPoison = (id: string): boolean => Number(id.slice("in:e".length)) % 5 === 0;
    switch (this.#mood) {
      case "accept":
        return status(200);
      case "fail":
        return status(500);
      case "refuse":
        return status(422);
      case "busy":
        return status(429, null, { "retry-after": "5" });
      case "gone":
        return status(410);
      case "drop":
        return status(302);
      case "poison":
        return status(ids.some(isPoison) ? 422 : 200);
      case "name": {
        const batchItemFailures = ids.filter(isPoison).map((itemIdentifier) => ({ itemIdentifier }));
        return status(200, JSON.stringify({ batchItemFailures }));
      }
    }
  }

  async #configure(shape: Shape, shards: number): Promise<void> {
    const before = { shape: this.#shape, shards: this.#shards };
    this.#shape = shards > 1 ? { ...shape, ordering: "relaxed" } : shape;
    if (this.#shape.ordering === "strict") this.#shape = { ...this.#shape, maxInFlight: 1 };
    this.#shards = shards;
    const response = await this.#tenant.configure(this.#config(), "?force=true");
    // A third layout within the window of the first has to wait [S4].
    if (response.status === 409) {
      this.#shape = before.shape;
      this.#shards = before.shards;
    } else if (!response.ok) throw new Error(`PUT answered ${response.status}: ${await response.text()}`);
    this.#objects = Math.max(this.#objects, this.#shards);
  }

  #config(): Record<string, unknown> {
    const { some, someFilter, ordering, maxInFlight, maxAttempts, fromOldest } = this.#shape;
    const common = {
      kind: "http",
      batch: { maxEvents: 4, flushDelayMs: 0 },
      retry: { maxAttempts, baseMs: 1_000, maxMs: 4_000 },
      circuitBreaker: { openMs: 5_000, openMsMax: 20_000 },
      giveUpAfterSeconds: 3_600,
      ordering,
      maxInFlight,
    };
    const filter = someFilter === "none" ? {} : { filter: { types: [someFilter] } };
    const from = fromOldest ? { from: "oldest" } : {};
    return {
      shards: this.#shards,
      deadLetterTtlSeconds: 86_400,
      retainSeconds: 2_592_000,
      dedupeWindowSeconds: 2_592_000,
      destinations: {
        all: { ...common, url: "https://origin.test/all" },
        ...(some ? { some: { ...common, url: "https://origin.test/some", ...filter, ...from } } : {}),
      },
    };
  }

  #destinations(): DestinationName[] {
    return DESTINATIONS.filter((name) => name === "all" || this.#shape.some);
  }

  #pick(at: number): string {
    return this.#ids[at % Math.max(1, this.#ids.length)] ?? "in:nothing";
  }

  #stubs() {
    return Array.from({ length: this.#objects }, (_, shard) =>
      bindings.TENANT_BUFFER.getByName(shard === 0 ? this.#tenant.name : `${this.#tenant.name}.${shard}`),
    );
  }

  async #crash(): Promise<void> {
    for (const stub of this.#stubs()) {
      await runInDurableObject(stub, (_, state) => state.abort("killed by the test")).catch(() => {});
    }
  }

  /** Lets the alarms that are due go off. */
  async #runDue(): Promise<void> {
    moveClock(5);
    await this.#pass(1_000);
  }

  async #pass(ms: number): Promise<void> {
    const endMs = Date.now() + ms;
    let runs = 0;
    for (;;) {
      let nextMs = Number.POSITIVE_INFINITY;
      let next = null;
      for (const stub of this.#stubs()) {
        const atMs = await runInDurableObject(stub, (_, state) => state.storage.getAlarm());
        if (atMs !== null && atMs < nextMs) {
          nextMs = atMs;
          next = stub;
        }
      }
      if (next === null || nextMs > endMs) break;
      if (nextMs > Date.now()) moveClock(nextMs - Date.now());
      await runDurableObjectAlarm(next);
      runs += 1;
      if (runs > 500) throw new Error(`500 runs and time is still ${endMs - Date.now()} ms short`);
    }
    if (endMs > Date.now()) moveClock(endMs - Date.now());
  }

  async #expectOk(method: string, path: string, body: unknown): Promise<void> {
    const response = await admin(method, `/tenants/${this.#tenant.name}${path}`, body);
    if (response.status >= 500) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    await response.body?.cancel();
  }

  /** The ledger adds up, is what the events themselves say, and changed only as the command may change it. */
  async #check(command: Command): Promise<void> {
    const stats = await this.#tenant.stats();
    if (!isBalanced(stats)) throw new Error(`unbalanced: ${JSON.stringify(stats.destinations)}`);
    if (stats.accepted !== this.#ids.length) throw new Error(`${stats.accepted} accepted of ${this.#ids.length}`);
    const states = await this.#readStates();
    for (const id of this.#ids) if (!states.has(id)) throw new Error(`${id} is not found any more`);
    for (const [name, ledger] of Object.entries(stats.destinations)) agree(name, ledger, states);
    this.#checkMoves(command, states);
    this.#states = states;
  }

  #checkMoves(command: Command, states: States): void {
    if (command.kind === "reconfigure") return;
    const allowed = new Set(allowedMoves(command));
    for (const [id, now] of states) {
      const before = this.#states.get(id);
      if (before === undefined) continue;
      for (const [name, state] of Object.entries(now)) {
        const from = placeOf(before[name] ?? "not-offered");
        const to = placeOf(state);
        // A destination that began with the oldest meets what was erased before it knew of it.
        if (to === "erased" && from === "backlog" && this.#erased.has(id)) continue;
        if (from !== to && !allowed.has(`${from}>${to}`)) throw new Error(`${id} moved ${from} → ${to} at ${name}`);
      }
    }
  }

  async #readStates(): Promise<States> {
    const states = new Map<string, Readonly<Record<string, EventState>>>();
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const response = await this.#tenant.admin("GET", `/events?limit=100${query}`);
      const page = (await response.json()) as { items: EventLine[]; cursor: string | null };
      for (const { id, states: of } of page.items) {
        if (states.has(id)) throw new Error(`${id} is stored twice`);
        states.set(id, of);
      }
      cursor = page.cursor;
    } while (cursor !== null);
    return states;
  }
}

function agree(name: string, ledger: TenantStats["destinations"][string], states: States): void {
  const counts: Record<string, number> = {};
  let offered = 0;
  for (const of of states.values()) {
    const place = placeOf(of[name] ?? "not-offered");
    counts[place] = (counts[place] ?? 0) + 1;
    if (place !== "not-offered") offered += 1;
  }
  for (const place of ["delivered", "backlog", "dead", "filtered", "purged", "expired", "erased"] as const) {
    if ((counts[place] ?? 0) !== ledger[place]) {
      throw new Error(`${name}: ${place} is ${ledger[place]}, and ${counts[place] ?? 0} events are there`);
    }
  }
  if (offered !== ledger.offered) throw new Error(`${name}: offered is ${ledger.offered}, and ${offered} events were`);
}

/** `retrying` is part of the backlog. */
function placeOf(state: EventState): string {
  return state === "retrying" ? "backlog" : state;
}

/** Moves follow from each other where a run may be on: from dead back to the backlog, and then delivered. */
function allowedMoves(command: Command): string[] {
  const kinds = command.kind === "in-flight" ? ["run", ...command.during.map((each) => each.kind)] : [command.kind];
  const runs = ["run", "time", "in-flight"];
  if (kinds.some((kind) => runs.includes(kind)) || ("at" in command && command.at === "all")) kinds.push("run");
  const steps = kinds.flatMap((kind) => MOVES[kind] ?? []);
  const closed = new Set(steps);
  for (let grew = true; grew; ) {
    grew = false;
    for (const a of [...closed]) {
      for (const b of [...closed]) {
        const [from, via] = a.split(">");
        const [start, to] = b.split(">");
        const joined = `${from}>${to}`;
        if (via === start && !closed.has(joined)) {
          closed.add(joined);
          grew = true;
        }
      }
    }
  }
  return [...closed];
}
