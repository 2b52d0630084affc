/** A tenant to which commands happen, held against the model after each of them. */
import type { EventLine, EventState, TenantStats } from "../../../src/buffer/contract.ts";
import { moveClock } from "../clock.ts";
import { gate, type Origin, type Received, status } from "../origin.ts";
import { admin, Tenant } from "../tenant.ts";
import type { Command, Mood, Shape } from "./commands.ts";
import type { Deadlines } from "./deadlines.ts";
import { checkLedger, checkSum, hasRun, type Meant, movesOf, placeAfter, placeOf, type States } from "./model.ts";
import { Objects } from "./objects.ts";
import { allowedShape, configOf, destinationsOf, START } from "./settings.ts";

/** In real time: a command that takes longer hangs. */
const COMMAND_MS = 30_000;

export class World {
  readonly #tenant = new Tenant(`t-${crypto.randomUUID()}`);
  readonly #objects = new Objects(this.#tenant.name);
  readonly #origin: Origin;
  readonly #deadlines: Deadlines;
  readonly #moves: Set<string>;
  /** Ids the tenant answered 202 for, with their types. */
  readonly #types = new Map<string, "x" | "y">();
  readonly #erased = new Set<string>();
  /** How often a destination took an event, and how often it had when the event last stood as delivered there. */
  readonly #taken = new Map<string, number>();
  readonly #credited = new Map<string, number>();
  #shape = START;
  #shards = 1;
  #mood: Mood = "accept";
  #isRunOn = false;
  /** Jobs begun while a run was on: they may go on in any later one, after a crash too [X2]. */
  readonly #jobs = new Set<string>();
  #states: States = new Map();

  /** `moves` gets those that were seen. */
  constructor(origin: Origin, deadlines: Deadlines, moves: Set<string>) {
    this.#moves = moves;
    this.#origin = origin;
    this.#deadlines = deadlines;
    origin.answer = (request, events) => this.#answer(request, events);
  }

  async begin(): Promise<void> {
    await this.#tenant.reconfigure(configOf(this.#shape, this.#shards));
  }

  /** Does it, and checks that the ledger balances and that just that moved that had to. */
  async happen(command: Command): Promise<void> {
    const meant = this.#meant(command);
    try {
      await inTime(this.#do(command));
      await inTime(this.#check(command, meant));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`at ${JSON.stringify(command)}: ${reason}`, { cause: error });
    }
  }

  /** The origin is well again and nothing is off: all that waits arrives. */
  async end(): Promise<void> {
    await this.happen({ kind: "mood", mood: "accept" });
    for (const destination of destinationsOf(this.#shape)) await this.happen({ kind: "resume", destination });
    for (let turn = 0; turn < 6; turn += 1) await this.happen({ kind: "time", ms: 3_600_000 });
    const { destinations } = await this.#tenant.stats();
    for (const [name, ledger] of Object.entries(destinations)) {
      if (ledger.backlog !== 0) throw new Error(`${name} still has a backlog: ${JSON.stringify(ledger)}`);
    }
  }

  async #do(command: Command): Promise<void> {
    switch (command.kind) {
      case "accept":
        for (let index = 0; index < command.count; index += 1) await this.#accept(command.type);
        return;
      case "duplicate":
        return this.#duplicate(this.#pick(command));
      case "mood":
        this.#mood = command.mood;
        return;
      case "run":
        moveClock(5);
        return this.#objects.pass(1_000);
      case "time":
        return this.#objects.pass(command.ms);
      case "evict":
        return this.#objects.evict();
      case "crash":
        return this.#objects.crash();
      case "pause":
      case "resume":
        return this.#operate(`/destinations/${command.destination}/${command.kind}`, {});
      case "drain":
        return this.#operate("/drain", {});
      case "redrive":
      case "purge": {
        const { destination, at } = command;
        const which = at === "all" ? { all: true } : { ids: [this.#pick(command)] };
        await this.#operate(`/dead-letters/${command.kind}`, { destination, ...which });
        if (at === "all" && this.#isRunOn) this.#jobs.add(command.kind);
        return at === "all" ? this.#work() : undefined;
      }
      case "replay": {
        const destinations = command.destination === null ? {} : { destinations: [command.destination] };
        return this.#operate("/events/replay", { ...destinations, ids: [this.#pick(command)] });
      }
      case "erase":
        return this.#erase(this.#pick(command));
      case "give-up": {
        const path = `/events/${encodeURIComponent(this.#pick(command))}/dead-letter`;
        return this.#operate(path, { destination: command.destination });
      }
      case "reshard":
        return this.#configure(this.#shape, command.shards);
      case "reconfigure":
        return this.#configure(command.shape, this.#shards);
      case "in-flight":
        return this.#inFlight(command);
    }
  }

  /** What was begun is done: by a run, or by the one that is on, which none can be started beside. */
  #work(): Promise<void> {
    return this.#isRunOn ? scheduler.wait(5) : this.#do({ kind: "run" });
  }

  async #accept(type: "x" | "y"): Promise<void> {
    const name = `e${this.#types.size}`;
    const response = await this.#tenant.post(name, "{}", { "x-event-type": type });
    if (response.status !== 202) throw new Error(`${name} was answered ${response.status}: ${await response.text()}`);
    this.#types.set(`in:${name}`, type);
  }

  /** A repeat re-opens where the event is dead or expired, and says so; while a run is on it may be so any moment [D6]. */
  async #duplicate(id: string): Promise<void> {
    const type = this.#types.get(id) ?? "x";
    // Not what it was before the command: within one that has several parts another may have moved it.
    const before = (await this.#readStates()).get(id) ?? {};
    const response = await this.#tenant.post(id.slice("in:".length), "{}", { "x-event-type": type });
    const { status: answer } = (await response.json()) as { status: string };
    const isClosed =
      !this.#erased.has(id) && Object.values(before).some((each) => each === "dead" || each === "expired");
    const right = this.#isRunOn ? ["deduplicated", "reopened"] : [isClosed ? "reopened" : "deduplicated"];
    if (!right.includes(answer)) throw new Error(`a repeat of ${id} was answered ${response.status} ${answer}`);
  }

  async #erase(id: string): Promise<void> {
    await this.#operate("/events/erase", { ids: [id] });
    this.#erased.add(id);
  }

  /** Requests are on their way while other things happen; then they are answered or hang, or the object is gone. */
  async #inFlight(command: Extract<Command, { kind: "in-flight" }>): Promise<void> {
    const held = gate();
    const { answer } = this.#origin;
    const before = this.#origin.requests.length;
    this.#origin.answer = async (request, events) => {
      await held.answer;
      if (command.end === "crash") return status(204);
      return command.end === "hang" ? this.#deadlines.hang(request) : answer(request, events);
    };
    moveClock(1);
    this.#isRunOn = true;
    const run = this.#objects
      .runNext()
      .catch(() => {})
      .then(() => {
        this.#isRunOn = false;
      });
    while (this.#isRunOn && this.#origin.requests.length === before) await scheduler.wait(1);
    // Nothing was due: then it all happens one after the other, and what is sent is answered.
    if (!this.#isRunOn) this.#origin.answer = answer;
    for (const during of command.during) {
      await this.#do(during);
      checkBalance((await this.#tenant.stats()).destinations);
    }
    if (command.end === "crash") await this.#objects.crash();
    this.#origin.answer = answer;
    held.open(status(204));
    await run;
  }

  #answer(request: Received, events: readonly { readonly id: string }[]): Response | Promise<Response> {
    const isPoison = (id: string): boolean => Number(id.slice("in:e".length)) % 5 === 0;
    const ids = events.map((event) => event.id);
    const take = (taken: readonly string[], response: Response): Response => {
      for (const id of taken) {
        const key = `${id} at ${new URL(request.url).pathname.slice(1)}`;
        this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
      }
      return response;
    };
    switch (this.#mood) {
      case "accept":
        return take(ids, status(200));
      case "fail":
        return status(500);
      case "refuse":
        return status(422);
      case "busy":
        return status(429, null, { "retry-after": "5" });
      case "gone":
        return status(410);
      case "redirect":
        return status(302);
      case "drop":
        return Promise.reject(new TypeError("Network connection lost."));
      case "hang":
        return this.#deadlines.hang(request);
      case "poison":
        return ids.some(isPoison) ? status(422) : take(ids, status(200));
      case "name": {
        const batchItemFailures = ids.filter(isPoison).map((itemIdentifier) => ({ itemIdentifier }));
        return take(
          ids.filter((id) => !isPoison(id)),
          status(200, JSON.stringify({ batchItemFailures })),
        );
      }
    }
  }

  async #configure(shape: Shape, shards: number): Promise<void> {
    const allowed = allowedShape(shape, shards);
    const response = await this.#tenant.configure(configOf(allowed, shards), "?force=true");
    this.#objects.grow(shards);
    // A third layout within the window of the first has to wait [S4].
    if (response.status === 409) return;
    if (!response.ok) throw new Error(`PUT answered ${response.status}: ${await response.text()}`);
    this.#shape = allowed;
    this.#shards = shards;
  }

  async #operate(path: string, body: unknown): Promise<void> {
    const response = await admin("POST", `/tenants/${this.#tenant.name}${path}`, body);
    if (response.status >= 500) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    await response.body?.cancel();
  }

  /** The event a command is about: mostly one that it moves, where there is one, and else any. */
  #pick(command: Command): string {
    if (!("at" in command) || command.at === "all") return "in:nothing";
    const { at } = command;
    const movable = at % 4 === 3 ? [] : [...this.#states.keys()].filter((id) => this.#isMovable(command, id));
    return movable[at % movable.length] ?? `in:e${at % Math.max(1, this.#types.size)}`;
  }

  #isMovable(command: Command, id: string): boolean {
    return Object.entries(this.#states.get(id) ?? {}).some(([name, state]) => {
      const place = placeOf(state);
      return placeAfter(command, { id, isErased: this.#erased.has(id) }, id, name, place) !== place;
    });
  }

  #meant(command: Command): Meant | null {
    if (!("at" in command) || command.at === "all") return null;
    const id = this.#pick(command);
    return { id, isErased: this.#erased.has(id) };
  }

  /** The ledger adds up, is what the events themselves say, and changed only as the command may change it. */
  async #check(command: Command, meant: Meant | null): Promise<void> {
    const stats = await this.#tenant.stats();
    const states = await this.#readStates();
    if (stats.accepted !== this.#types.size) throw new Error(`${stats.accepted} accepted of ${this.#types.size}`);
    for (const id of this.#types.keys()) if (!states.has(id)) throw new Error(`${id} is not found any more`);
    if (states.size !== this.#types.size) throw new Error(`${states.size} events of ${this.#types.size} are stored`);
    for (const [name, ledger] of Object.entries(stats.destinations)) checkLedger(name, ledger, states);
    for (const [id, now] of states) {
      for (const name of Object.keys(now)) this.#checkPlace(command, meant, id, name, placeOf(now[name]));
    }
    this.#states = states;
  }

  #checkPlace(command: Command, meant: Meant | null, id: string, name: string, to: ReturnType<typeof placeOf>): void {
    const known = this.#states.get(id);
    const fail = (): never => {
      throw new Error(`${id} at ${name}: ${placeOf(known?.[name])} → ${to}`);
    };
    if (known === undefined) {
      if (!hasRun(command) && to !== "backlog") fail();
    } else if (known[name] !== undefined) {
      const from = placeOf(known[name]);
      if (from !== to) this.#moves.add(`${from} → ${to}`);
      if (!hasRun(command)) {
        if (to !== placeAfter(command, meant, id, name, from)) fail();
      } else if (from !== to && !movesOf(command, this.#jobs).has(`${from}>${to}`)) {
        // A destination that began with the oldest meets what was erased before it knew of it.
        if (to !== "erased" || from !== "backlog" || !this.#erased.has(id)) fail();
      }
      const isPurgeOfAll = command.kind === "purge" && command.at === "all" && command.destination === name;
      if (isPurgeOfAll && from === "dead" && to !== "purged" && to !== "expired") fail();
    } else if (command.kind !== "reconfigure") fail();
    if (to === "delivered") this.#credit(`${id} at ${name}`, placeOf(known?.[name]) === "delivered");
  }

  /** An event that has become delivered was taken since it last was [V14]. */
  #credit(key: string, wasDelivered: boolean): void {
    const taken = this.#taken.get(key) ?? 0;
    if (!wasDelivered && taken <= (this.#credited.get(key) ?? 0)) {
      throw new Error(`${key} counts as delivered, and was not taken`);
    }
    this.#credited.set(key, taken);
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

async function inTime(work: Promise<void>): Promise<void> {
  const late = scheduler.wait(COMMAND_MS).then(() => {
    throw new Error(`it hangs: no end within ${COMMAND_MS} ms`);
  });
  await Promise.race([work, late]);
}

function checkBalance(destinations: TenantStats["destinations"]): void {
  for (const [name, ledger] of Object.entries(destinations)) checkSum(name, ledger);
}
