import type { ProviderRow } from "../row.ts";
import { ANY_2XX, bodyHmac, DAY_SECONDS, retriesFor, standardWebhooks, timedHmac } from "./forms.ts";

/** Senders without a name of their own [P2]. They are taken to come back for a day, so over the limit they hear 429 [R3]. */
const assumed = {
  handshakes: [],
  answer: ANY_2XX,
  timeLimitMs: 10_000,
  timeLimitIs: "assumed",
  retry: { ...retriesFor(DAY_SECONDS), is: "assumed" },
} as const;

const setup = { addAt: "in the sender's own settings", secret: "the secret that the sender signs with" };

export const genericRows: readonly ProviderRow[] = [
  {
    name: "generic",
    title: "Generic HMAC",
    page: "https://www.rfc-editor.org/rfc/rfc2104",
    note: "Hex HMAC-SHA256 of the body in X-Signature; the event is named by X-Event-ID, which nothing signs.",
    setup,
    scheme: bodyHmac("x-signature", "hex"),
    identity: {
      ids: [{ from: "header:x-event-id", key: "with-body" }],
      types: ["header:x-event-type", "json:/type"],
      severalItems: false,
      retriesChangeBody: false,
    },
    ...assumed,
  },
  {
    name: "generic-timestamped",
    title: "Generic HMAC with timestamp",
    page: "https://docs.stripe.com/webhooks#verify-manually",
    note: "X-Signature: t=<unix>,v1=<hex> over <t>.<body>, as Stripe does it; X-Webhook-Event-Id is not signed.",
    setup,
    scheme: timedHmac("x-signature"),
    identity: {
      ids: [{ from: "header:x-webhook-event-id", key: "with-body" }],
      types: ["header:x-event-type", "json:/type"],
      severalItems: false,
      retriesChangeBody: false,
    },
    ...assumed,
  },
  {
    name: "token",
    title: "Shared token",
    page: "https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md",
    note:
      "The secret is the token itself, or user:password for Basic. It is looked for as a Bearer token, as Basic " +
      "credentials, in the header X-Webhook-Token (or the one named in params.header) and in the URL parameter " +
      "token (or the one named in params.query); params.in narrows that to bearer, basic, header or query.",
    setup: { addAt: "in the sender's own settings", secret: "a long random text, given to both sides" },
    scheme: {
      kind: "token",
      places: [
        { in: "bearer" },
        { in: "basic" },
        { in: "header", name: "x-webhook-token", nameParam: "header" },
        { in: "query", name: "token", nameParam: "query" },
      ],
    },
    params: [
      { name: "in", needed: "never", about: "bearer, basic, header or query" },
      { name: "header", needed: "never", about: "the header that holds the token" },
      { name: "query", needed: "never", about: "the URL parameter that holds the token" },
    ],
    identity: { ids: [], types: ["json:/type"], severalItems: false, retriesChangeBody: false },
    ...assumed,
  },
  {
    name: "standard-webhooks",
    title: "Standard Webhooks",
    page: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    setup: { addAt: "in the sender's own settings", secret: "the signing secret, with or without whsec_" },
    scheme: standardWebhooks(),
    identity: {
      ids: [{ from: "header:webhook-id", key: "event" }],
      types: ["json:/type"],
      severalItems: false,
      retriesChangeBody: false,
    },
    handshakes: [],
    answer: ANY_2XX,
    timeLimitMs: 15_000,
    timeLimitIs: "published",
    retry: { ...retriesFor(3 * DAY_SECONDS), disables: "410 at once", is: "published" },
  },
  {
    name: "svix",
    title: "Svix",
    page: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    note: "Senders that run on Svix: Clerk, Resend, Stytch, Vanta and many more.",
    setup: { addAt: "in the sender's webhook portal", secret: "the endpoint's signing secret (whsec_…)" },
    scheme: standardWebhooks("svix"),
    identity: {
      ids: [{ from: "header:svix-id", key: "event" }],
      types: ["json:/type"],
      severalItems: false,
      retriesChangeBody: false,
    },
    handshakes: [],
    answer: ANY_2XX,
    timeLimitMs: 15_000,
    timeLimitIs: "published",
    retry: {
      forSeconds: 27 * 3_600 + 2_105,
      tries: 7,
      afterOverLimit: true,
      disables: "when every attempt fails for 5 days",
      overLimitDisables: false,
      is: "published",
    },
  },
];
