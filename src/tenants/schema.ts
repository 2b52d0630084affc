/**
 * The form of an operator's input: which fields there are, their types and bounds. What fields mean together
 * is judged in `meaning.ts`; `parse.ts` runs both, so that every problem is named at once [O2].
 *
 * Built on first use: the ingress path never needs it, and an isolate that only takes webhooks never pays for it.
 */
import { z } from "zod";
import { JURISDICTIONS, LOCATION_HINTS } from "../core/place.ts";

export type ConfigInput = z.infer<ReturnType<typeof buildSchema>>;
export type SourceInput = ConfigInput["sources"][string];
export type SecretInput = SourceInput["secrets"][number];
export type DestinationInput = NonNullable<ConfigInput["destinations"]>[string];

let schema: ReturnType<typeof buildSchema> | null = null;

/** The schema itself; its output has the simple defaults filled in. */
export function configSchema(): ReturnType<typeof buildSchema> {
  schema ??= buildSchema();
  return schema;
}

const TEXT_LENGTH_MAX = 4_096;

function buildSchema() {
  const whole = (min: number, max: number) => {
    const message = `must be a whole number from ${min} to ${max}`;
    return z.int(message).min(min, message).max(max, message);
  };
  const number = (min: number, max: number) => {
    const message = `must be a number from ${min} to ${max}`;
    return z.number(message).min(min, message).max(max, message);
  };
  const text = (name: string, max = TEXT_LENGTH_MAX) =>
    z
      .string(`must be ${name}`)
      .min(1, `must be ${name}, not empty`)
      .max(max, `must be ${name} of at most ${max} characters`);
  const matching = (pattern: RegExp, message: string) => z.string(message).regex(pattern, message);
  const oneOf = <const T extends readonly [string, ...string[]]>(...names: T) =>
    z.enum(names, `must be one of ${names.map((name) => `"${name}"`).join(", ")}`);
  const flag = () => z.boolean("must be true or false");
  const object = <T extends z.core.$ZodLooseShape>(shape: T) => z.strictObject(shape, "must be an object");
  const list = <T extends z.ZodType>(item: T, min: number, max: number) => {
    const message = `must be a list of ${min} to ${max} entries`;
    return z.array(item, message).min(min, message).max(max, message);
  };
  const headerName = () =>
    matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, "must be the name of a header").transform((name) =>
      name.toLowerCase(),
    );
  const url = () => text("a URL", 2_048);
  const mailAddress = () => matching(/^[^\s@<>,;:"\\]{1,64}@[A-Za-z0-9.-]{1,255}$/, "must be one mail address");

  const secret = z.union(
    [
      text("a secret", 16_384),
      object({
        value: text("a secret", 16_384),
        retiresAt: z.iso.datetime({ offset: true, error: "must be a time such as 2027-01-31T00:00:00Z" }).nullish(),
      }),
    ],
    'must be a secret as text, or {"value": …, "retiresAt": …}; masked secrets can\'t be written back: PATCH only what changes',
  );

  const source = object({
    provider: text("the name of a provider", 64),
    secrets: list(secret, 0, 8).default([]),
    toleranceSeconds: whole(1, 1_000_000_000).nullish(),
    forwardHeaders: list(headerName(), 0, 32).default([]),
    eventId: z
      .union(
        [object({ header: headerName() }), object({ pointer: z.string().max(1_024) })],
        'must be {"header": "X-Event-ID"} or {"pointer": "/data/id"}',
      )
      .nullish(),
    publicUrl: url().nullish(),
    verifyToken: text("a token", 1_024).nullish(),
    params: z
      .record(z.string(), z.string("must be text").max(TEXT_LENGTH_MAX, "is too long"), "must be an object")
      .default({}),
    handshakeUntil: z.iso.datetime({ offset: true, error: "must be a time such as 2027-01-31T00:00:00Z" }).nullish(),
    custom: z.unknown().optional(),
  });

  const retry = object({
    maxAttempts: whole(1, 50).optional(),
    baseMs: whole(100, 3_600_000).optional(),
    factor: number(1.5, 4).optional(),
    maxMs: whole(1_000, 43_200_000).optional(),
    jitter: oneOf("full", "equal", "proportional").optional(),
    scheduleSeconds: list(whole(0, 43_200), 1, 50).nullish(),
    countDestinationFaults: flag().optional(),
  });

  /** What a request to an HTTP endpoint needs: a destination's own fields, and those of a queue's `deliverTo`. */
  const httpFields = {
    url: url().optional(),
    bearerToken: matching(/^[\x21-\x7e]{1,4096}$/, "must be visible ASCII without spaces").nullish(),
    signingSecrets: list(text("a secret", 1_024), 0, 8).optional(),
    signature: oneOf("standard", "timestamped").optional(),
    timeoutMs: whole(1_000, 60_000).optional(),
  };

  const destination = object({
    ...httpFields,
    kind: oneOf("http", "queue").default("http"),
    queue: text("the name of a queue binding", 64).optional(),
    deliverTo: object(httpFields).optional(),
    maxQueueBacklog: whole(100, 10_000_000).optional(),
    format: oneOf("batch", "single", "cloudevents").optional(),
    filter: object({
      sources: list(z.string("must be the id of a source"), 1, 50).nullish(),
      types: list(text("a type, which may end in *", 200), 1, 100).nullish(),
    }).nullish(),
    from: oneOf("now", "oldest").optional(),
    batch: object({
      maxEvents: whole(1, 1_000).optional(),
      maxBytes: whole(1_000, 5_000_000).optional(),
      flushDelayMs: whole(0, 60_000).optional(),
    }).optional(),
    maxInFlight: whole(1, 5).optional(),
    ordering: oneOf("relaxed", "strict").optional(),
    maxEventsPerSecond: whole(1, 10_000).nullish(),
    retry: retry.optional(),
    retryAfterMaxSeconds: whole(1, 86_400).optional(),
    giveUpAfterSeconds: whole(3_600, 2_592_000).optional(),
    circuitBreaker: object({
      openMs: whole(100, 3_600_000).optional(),
      openMsMax: whole(100, 86_400_000).optional(),
    }).optional(),
  });

  const tenant = object({
    active: flag().default(true),
    maxBodyBytes: whole(1_024, 26_214_400).default(1_048_576),
    shards: whole(1, 64).default(1),
    sources: z.record(
      z.string(),
      source,
      'must be an object of 1 to 50 sources, such as {"stripe": {"provider": "stripe", …}}',
    ),
    rateLimit: object({
      events: whole(1, 100_000).default(100),
      windowSeconds: whole(1, 3_600).default(10),
      action: oneOf("reject", "absorb", "auto").default("auto"),
    }).optional(),
    dedupeWindowSeconds: whole(3_600, 2_592_000).nullish(),
    contentDedupeSeconds: whole(0, 86_400).default(600),
    retainSeconds: whole(0, 2_592_000).default(259_200),
    retainBytes: whole(0, 6_000_000_000).default(2_000_000_000),
    deadLetterTtlSeconds: whole(86_400, 2_592_000).default(604_800),
    maxBacklogEvents: whole(100, 10_000_000).default(1_000_000),
    maxBacklogBytes: whole(1_000_000, 6_000_000_000).default(4_000_000_000),
    destinations: z.record(z.string(), destination, "must be an object of at most 16 destinations").optional(),
    alerts: object({
      webhookUrl: url().nullish(),
      format: oneOf("webhook", "slack").default("webhook"),
      signingSecrets: list(text("a secret", 1_024), 0, 8).optional(),
      email: object({ from: mailAddress(), to: mailAddress() }).nullish(),
      silentSourceSeconds: whole(300, 2_592_000).nullish(),
    }).nullish(),
    jurisdiction: oneOf(...JURISDICTIONS).nullish(),
    locationHint: oneOf(...LOCATION_HINTS).nullish(),
  });
  return tenant;
}
