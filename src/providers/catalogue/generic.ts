import type { IdentityFacts, ProviderRow } from "../row.ts";
import type { HmacScheme } from "../scheme.ts";
import { ANY_2XX, bodyHmac, DAY_SECONDS, idWithBody, noId, retriesFor, timedHmac } from "./forms.ts";

/** Senders without a name of their own [P2]. They are taken to come back, so over the limit they hear 429 [R3]. */
const UNNAMED_SENDER = {
  setup: { addAt: "the sender's own settings", secret: "the secret that the sender signs with" },
  handshakes: [],
  answer: ANY_2XX,
  timeLimitMs: 10_000,
  timeLimitIs: "assumed",
  retry: { ...retriesFor(DAY_SECONDS), is: "assumed" },
} as const;

const RFC_2104 = "https://www.rfc-editor.org/rfc/rfc2104";
const BY_HEADER = idWithBody("header:x-event-id", ["header:x-event-type", "json:/type"]);
const BY_WEBHOOK_HEADER = idWithBody("header:x-webhook-event-id", ["header:x-event-type", "json:/type"]);

function plain(name: string, title: string, scheme: HmacScheme, identity: IdentityFacts = BY_HEADER): ProviderRow {
  return { name, title, page: RFC_2104, scheme, identity, ...UNNAMED_SENDER };
}

export const genericRows: readonly ProviderRow[] = [
  plain("generic", "Generic: hex HMAC-SHA256 of the body in X-Signature", bodyHmac("x-signature", "hex")),
  plain("generic-hmac-hex", "Generic: the same, under its full name", bodyHmac("x-signature", "hex")),
  plain("generic-hmac-base64", "Generic: base64 HMAC-SHA256 of the body", bodyHmac("x-signature", "base64")),
  plain(
    "generic-hmac-hex512",
    "Generic: hex HMAC-SHA512 of the body",
    bodyHmac("x-signature", "hex", { hash: "SHA-512" }),
  ),
  plain(
    "generic-hmac-base64-512",
    "Generic: base64 HMAC-SHA512 of the body",
    bodyHmac("x-signature", "base64", { hash: "SHA-512" }),
  ),
  plain("generic-timestamped", "Generic: t=,v1= over time and body", timedHmac("x-signature"), BY_WEBHOOK_HEADER),
  plain("generic-t-v1", "Generic: the same, under its other name", timedHmac("x-signature"), BY_WEBHOOK_HEADER),
  {
    name: "token",
    title: "Shared token",
    page: "https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md",
    note:
      "The secret is the token itself, or user:password for Basic. It is looked for as a Bearer token, as Basic " +
      "credentials, in the header X-Webhook-Token (or the one named in params.header) and in the URL parameter " +
      "token (or the one named in params.query); params.in narrows that to bearer, basic, header or query.",
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
    identity: noId(["json:/type"]),
    ...UNNAMED_SENDER,
    setup: { addAt: "the sender's own settings", secret: "a long random text, given to both sides" },
  },
];
