/** What may happen to a tenant, as data: sequences of these are made at random, and made shorter where one fails. */
import fc from "fast-check";

/**
 * How the origin answers from now on. `drop`: the connection breaks. `poison`: it refuses a batch with an event whose
 * number is a multiple of five; `name`: it names these and takes the others.
 */
export const MOODS = [
  "accept",
  "fail",
  "refuse",
  "busy",
  "gone",
  "redirect",
  "drop",
  "hang",
  "poison",
  "name",
] as const;
export type Mood = (typeof MOODS)[number];

export const DESTINATIONS = ["all", "some"] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

/** Settings of the tenant that a change of configuration may set; destinations that are false are removed. */
export interface Shape {
  readonly some: boolean;
  readonly someFilter: "x" | "y" | "none";
  readonly ordering: "relaxed" | "strict";
  readonly maxInFlight: 1 | 3;
  readonly maxAttempts: 1 | 3;
  readonly fromOldest: boolean;
}

/** `at` chooses an event: one of those accepted so far. */
export type Command =
  | { readonly kind: "accept"; readonly count: number; readonly type: "x" | "y" }
  | { readonly kind: "duplicate"; readonly at: number }
  | { readonly kind: "mood"; readonly mood: Mood }
  | { readonly kind: "run" }
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "evict" }
  | { readonly kind: "crash" }
  | { readonly kind: "pause" | "resume"; readonly destination: DestinationName }
  | { readonly kind: "drain" }
  | { readonly kind: "redrive" | "purge"; readonly destination: DestinationName; readonly at: number | "all" }
  | { readonly kind: "replay"; readonly destination: DestinationName | null; readonly at: number }
  | { readonly kind: "erase"; readonly at: number }
  | { readonly kind: "give-up"; readonly destination: DestinationName; readonly at: number }
  | { readonly kind: "reshard"; readonly shards: 1 | 2 | 3 }
  | { readonly kind: "reconfigure"; readonly shape: Shape }
  /** While a request is on its way, other things happen; then it is answered or hangs, or the object is killed. */
  | { readonly kind: "in-flight"; readonly during: readonly Command[]; readonly end: "answer" | "hang" | "crash" };

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

const destination = fc.constantFrom(...DESTINATIONS);
/** Often one of the first: several things have to happen to the same event. */
const at = fc.oneof(fc.nat(2), fc.nat(40));

const small = {
  accept: fc.record({
    kind: fc.constant("accept" as const),
    count: fc.integer({ min: 1, max: 6 }),
    type: fc.constantFrom("x" as const, "y" as const),
  }),
  duplicate: fc.record({ kind: fc.constant("duplicate" as const), at }),
  mood: fc.record({
    kind: fc.constant("mood" as const),
    mood: fc.constantFrom<Mood>("accept", "accept", "refuse", "poison", "name", ...MOODS),
  }),
  run: fc.constant<Command>({ kind: "run" }),
  time: fc.record({
    kind: fc.constant("time" as const),
    ms: fc.constantFrom(SECOND_MS, 20 * SECOND_MS, 20 * SECOND_MS, 600 * SECOND_MS, 2 * HOUR_MS, 30 * HOUR_MS),
  }),
  pause: fc.record({ kind: fc.constantFrom("pause" as const, "resume" as const, "resume" as const), destination }),
  move: fc.record({
    kind: fc.constantFrom("redrive" as const, "redrive" as const, "purge" as const),
    destination,
    at: fc.oneof(at, fc.constant("all" as const)),
  }),
  replay: fc.record({ kind: fc.constant("replay" as const), destination: fc.option(destination), at }),
  erase: fc.record({ kind: fc.constant("erase" as const), at }),
  giveUp: fc.record({ kind: fc.constant("give-up" as const), destination, at }),
};

const during = fc.array(
  fc.oneof(
    small.accept,
    small.duplicate,
    small.pause,
    small.move,
    small.replay,
    { arbitrary: small.erase, weight: 3 },
    { arbitrary: small.giveUp, weight: 3 },
  ),
  { maxLength: 3 },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  { arbitrary: small.accept, weight: 6 },
  { arbitrary: small.duplicate, weight: 4 },
  { arbitrary: small.mood, weight: 5 },
  { arbitrary: small.run, weight: 4 },
  { arbitrary: small.time, weight: 5 },
  { arbitrary: small.pause, weight: 2 },
  { arbitrary: small.move, weight: 6 },
  { arbitrary: small.replay, weight: 4 },
  { arbitrary: small.erase, weight: 3 },
  { arbitrary: small.giveUp, weight: 5 },
  { arbitrary: fc.constantFrom<Command>({ kind: "evict" }, { kind: "crash" }, { kind: "drain" }), weight: 3 },
  {
    arbitrary: fc.record({ kind: fc.constant("reshard" as const), shards: fc.constantFrom(1 as const, 2, 3) }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant("reconfigure" as const),
      shape: fc.record({
        some: fc.boolean(),
        someFilter: fc.constantFrom("x" as const, "y" as const, "none" as const),
        ordering: fc.constantFrom("relaxed" as const, "relaxed" as const, "strict" as const),
        maxInFlight: fc.constantFrom(1 as const, 3 as const),
        maxAttempts: fc.constantFrom(1 as const, 3 as const),
        fromOldest: fc.boolean(),
      }),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant("in-flight" as const),
      during,
      end: fc.constantFrom("answer" as const, "hang" as const, "crash" as const),
    }),
    weight: 4,
  },
);

/** A life of a tenant: it begins with some events and an origin of some mood, so that there is something to happen to. */
export const sequences: fc.Arbitrary<readonly Command[]> = fc
  .tuple(small.accept, small.mood, fc.array(command, { minLength: 1, maxLength: 24, size: "max" }))
  .map(([first, mood, rest]) => [first, mood, ...rest]);
