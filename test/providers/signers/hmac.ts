import { createHash } from "node:crypto";
import {
  bodySigner,
  iso,
  listSigner,
  mac,
  milliseconds,
  OTHER_SECRET,
  SECRET,
  type Signer,
  standardSigner,
  twoHeaderSigner,
} from "./signer.ts";

const hex = (header: string, prefix = ""): Signer => bodySigner(header, "hex", { prefix });
const base64 = (header: string, prefix = ""): Signer => bodySigner(header, "base64", { prefix });

/** `v0:time:body`, as Slack does it. */
const slackLike = (
  header: string,
  timeHeader: string,
  prefix = "v0=",
  timeText?: (seconds: number) => string,
): Signer =>
  twoHeaderSigner(
    header,
    timeHeader,
    (time, sign, body) => prefix + sign(`v0:${time}:`, body).toString("hex"),
    timeText,
  );

function custom(header: string, sign: Signer["sign"], params?: Record<string, string>): Signer {
  const plain = { secret: SECRET, otherSecret: OTHER_SECRET, bodies: "any", header, sign } as const;
  return params === undefined ? plain : { ...plain, params };
}

const hubspotV3 = twoHeaderSigner(
  "x-hubspot-signature-v3",
  "x-hubspot-request-timestamp",
  (time, sign, body) => sign("POSThttps://hooks.example.com/in/tok", body, time).toString("base64"),
  milliseconds,
);

/** Providers that sign with a shared secret and HMAC. */
export const hmacSigners: Readonly<Record<string, Signer>> = {
  generic: hex("x-signature"),
  "generic-hmac-hex": hex("x-signature"),
  "generic-hmac-base64": base64("x-signature"),
  "generic-hmac-hex512": bodySigner("x-signature", "hex", { hash: "sha512" }),
  "generic-hmac-base64-512": bodySigner("x-signature", "base64", { hash: "sha512" }),
  "generic-timestamped": listSigner("x-signature"),
  "generic-t-v1": listSigner("x-signature"),
  "standard-webhooks": standardSigner(),
  svix: standardSigner("svix"),
  clerk: standardSigner("svix"),
  resend: standardSigner("svix"),
  lithic: standardSigner(),
  openai: standardSigner(),
  replicate: standardSigner(),
  polar: standardSigner("webhook", "utf8"),
  bigcommerce: standardSigner("webhook", "base64"),
  gitlab: standardSigner(),
  supabase: standardSigner(),
  shipbob: standardSigner(),
  gemini: standardSigner(),
  liveblocks: standardSigner(),
  stripe: listSigner("stripe-signature"),
  paddle: listSigner("paddle-signature", {
    join: ":",
    write: (time, value) => `ts=${time};h1=${value.toString("hex")}`,
  }),
  lemonsqueezy: hex("x-signature"),
  razorpay: hex("x-razorpay-signature"),
  paystack: bodySigner("x-paystack-signature", "hex", { hash: "sha512" }),
  "flutterwave-v4": base64("flutterwave-signature"),
  "coinbase-commerce": hex("x-cc-webhook-signature"),
  "coinbase-cdp": listSigner("x-hook0-signature", {
    write: (time, value) => `t=${time},v0=${value.toString("hex")},h=content-type,v1=${"0".repeat(64)}`,
  }),
  gocardless: hex("webhook-signature"),
  square: custom("x-square-hmacsha256-signature", (secret, { url, body }) => ({
    headers: { "x-square-hmacsha256-signature": mac("sha256", secret, url, body).toString("base64") },
  })),
  orb: twoHeaderSigner(
    "x-orb-signature",
    "x-orb-timestamp",
    (time, sign, body) => `v1=${sign(`v1:${time}:`, body).toString("hex")}`,
    (seconds) => iso(seconds).slice(0, -1),
  ),
  recharge: listSigner("x-recharge-webhook-signature"),
  airwallex: twoHeaderSigner(
    "x-signature",
    "x-timestamp",
    (time, sign, body) => sign(time, body).toString("hex"),
    milliseconds,
  ),
  revolut: twoHeaderSigner(
    "revolut-signature",
    "revolut-request-timestamp",
    (time, sign, body) => `v1=${sign(`v1.${time}.`, body).toString("hex")}`,
    milliseconds,
  ),
  ascend: listSigner("x-ascend-signature", { join: ":" }),
  nmi: custom("webhook-signature", (secret, { body }) => ({
    headers: { "webhook-signature": `t=nonce-1,s=${mac("sha256", secret, "nonce-1.", body).toString("hex")}` },
  })),
  solidgate: custom("signature", (secret, { body }) => {
    const digits = mac("sha512", secret, "wh_pk_1", body, "wh_pk_1").toString("hex");
    return { headers: { merchant: "wh_pk_1", signature: Buffer.from(digits).toString("base64") } };
  }),
  github: hex("x-hub-signature-256", "sha256="),
  bitbucket: hex("x-hub-signature", "sha256="),
  jira: hex("x-hub-signature", "sha256="),
  linear: hex("linear-signature"),
  sentry: hex("sentry-hook-signature"),
  vercel: bodySigner("x-vercel-signature", "hex", { hash: "sha1" }),
  circleci: hex("circleci-signature", "v1="),
  buildkite: listSigner("x-buildkite-signature", {
    write: (time, value) => `timestamp=${time},signature=${value.toString("hex")}`,
  }),
  gitea: hex("x-gitea-signature"),
  forgejo: hex("x-forgejo-signature"),
  discourse: hex("x-discourse-event-signature", "sha256="),
  cursor: hex("x-webhook-signature", "sha256="),
  shopify: base64("x-shopify-hmac-sha256"),
  "shopify-events": base64("shopify-hmac-sha256"),
  woocommerce: base64("x-wc-webhook-signature"),
  shopline: hex("x-shopline-hmac-sha256"),
  nuvemshop: hex("x-linkedstore-hmac-sha256"),
  squarespace: bodySigner("squarespace-signature", "hex", { key: "hex" }),
  commercelayer: base64("x-commercelayer-signature"),
  fourthwall: base64("x-fourthwall-hmac-sha256"),
  fastspring: base64("x-fs-signature"),
  tebex: custom("x-signature", (secret, { body }) => {
    const digest = createHash("sha256").update(body).digest("hex");
    return { headers: { "x-signature": mac("sha256", secret, digest).toString("hex") } };
  }),
  shiphero: base64("x-shiphero-hmac-sha256"),
  picqer: base64("x-picqer-signature"),
  flexport: hex("x-hub-signature-256", "sha256="),
  uber: hex("x-uber-signature"),
  walmart: twoHeaderSigner("wm_sec.signature", "wm_sec.timestamp", (time, sign, body) => {
    const digest = createHash("sha256").update(body).digest("hex");
    return sign(`POST\n/in/tok\n${time}\n${digest}`).toString("base64");
  }),
  contentful: custom("x-contentful-signature", (secret, { body, seconds }) => {
    const time = milliseconds(seconds);
    const names = "x-contentful-signed-headers,x-contentful-timestamp";
    const lines = `x-contentful-signed-headers:${names};x-contentful-timestamp:${time}`;
    const signature = mac("sha256", secret, `POST\n/in/tok\n${lines}\n`, body).toString("hex");
    return {
      headers: {
        "x-contentful-signature": signature,
        "x-contentful-signed-headers": names,
        "x-contentful-timestamp": time,
      },
    };
  }),
  sanity: listSigner("sanity-webhook-signature", {
    unit: "ms",
    write: (time, value) => `t=${time},v1=${value.toString("base64url")}`,
  }),
  webflow: twoHeaderSigner(
    "x-webflow-signature",
    "x-webflow-timestamp",
    (time, sign, body) => sign(`${time}:`, body).toString("hex"),
    milliseconds,
  ),
  akeneo: twoHeaderSigner("x-akeneo-request-signature", "x-akeneo-request-timestamp", (time, sign, body) =>
    sign(`${time}.`, body).toString("hex"),
  ),
  mux: listSigner("mux-signature"),
  slack: slackLike("x-slack-signature", "x-slack-request-timestamp"),
  zoom: slackLike("x-zm-signature", "x-zm-request-timestamp"),
  line: base64("x-line-signature"),
  intercom: bodySigner("x-hub-signature", "hex", { prefix: "sha1=", hash: "sha1" }),
  front: twoHeaderSigner(
    "x-front-signature",
    "x-front-request-timestamp",
    (time, sign, body) => sign(`${time}:`, body).toString("base64"),
    milliseconds,
  ),
  zendesk: twoHeaderSigner(
    "x-zendesk-webhook-signature",
    "x-zendesk-webhook-signature-timestamp",
    (time, sign, body) => sign(time, body).toString("base64"),
    iso,
  ),
  customerio: slackLike("x-cio-signature", "x-cio-timestamp", ""),
  courier: listSigner("courier-signature", {
    unit: "ms",
    write: (time, value) => `t=${time},signature=${value.toString("hex")}`,
  }),
  knock: listSigner("x-knock-signature", {
    unit: "ms",
    write: (time, value) => `t=${time},s=${value.toString("base64")}`,
  }),
  getstream: hex("x-signature"),
  attentive: hex("x-attentive-hmac-sha256"),
  pylon: twoHeaderSigner(
    "pylon-webhook-signature",
    "pylon-webhook-timestamp",
    (time, sign, body) => `hs256=${sign(`${time}.`, body).toString("hex")}`,
  ),
  hubspot: hubspotV3,
  "hubspot-v3": hubspotV3,
  notion: hex("x-notion-signature", "sha256="),
  airtable: bodySigner("x-airtable-content-mac", "hex", { prefix: "hmac-sha256=", key: "base64" }),
  asana: hex("x-hook-signature"),
  clio: hex("x-hook-signature"),
  trello: custom("x-trello-webhook", (secret, { url, body }) => ({
    headers: { "x-trello-webhook": mac("sha1", secret, body, url).toString("base64") },
  })),
  clickup: hex("x-signature"),
  todoist: base64("x-todoist-hmac-sha256"),
  calendly: listSigner("calendly-webhook-signature"),
  "cal-com": hex("x-cal-signature-256"),
  typeform: base64("typeform-signature", "sha256="),
  tally: base64("tally-signature"),
  docusign: base64("x-docusign-signature-2"),
  dropbox: hex("x-dropbox-signature"),
  box: twoHeaderSigner(
    "box-signature-primary",
    "box-delivery-timestamp",
    (time, sign, body) => sign(body, time).toString("base64"),
    iso,
  ),
  ashby: hex("ashby-signature", "sha256="),
  fireflies: hex("x-hub-signature", "sha256="),
  nylas: hex("x-nylas-signature"),
  "adyen-platform": bodySigner("hmacsignature", "base64", { key: "hex" }),
  xero: base64("x-xero-signature"),
  quickbooks: base64("intuit-signature"),
  qonto: hex("qonto-sha256-signature"),
  "qonto-timestamped": listSigner("x-qonto-signature"),
  fintoc: listSigner("fintoc-signature"),
  moneybird: listSigner("moneybird-signature"),
  cashfree: twoHeaderSigner(
    "x-webhook-signature",
    "x-webhook-timestamp",
    (time, sign, body) => sign(time, body).toString("base64"),
    milliseconds,
  ),
  "bridge-api": custom("bridgeapi-signature", (secret, { body }) => ({
    headers: { "bridgeapi-signature": `v1=${mac("sha256", secret, body).toString("hex").toUpperCase()}` },
  })),
  synctera: twoHeaderSigner("synctera-signature", "request-timestamp", (time, sign, body) =>
    sign(`${time}.`, body).toString("hex"),
  ),
  "smile-api": bodySigner("smile-signature", "hex", { hash: "sha512" }),
  aiprise: hex("x-hmac-signature"),
  persona: listSigner("persona-signature"),
  "zero-hash": twoHeaderSigner(
    "x-zh-hook-signature",
    "x-zh-hook-timestamp",
    (time, sign, body) => sign(body, time).toString("hex"),
    milliseconds,
  ),
  alchemy: hex("x-alchemy-signature"),
  pagerduty: hex("x-pagerduty-signature", "v1="),
  heroku: base64("heroku-webhook-hmac-sha256"),
  launchdarkly: hex("x-ld-signature"),
  statsig: slackLike("x-statsig-signature", "x-statsig-request-timestamp", "v0=", milliseconds),
  "cloudflare-stream": listSigner("webhook-signature", {
    write: (time, value) => `time=${time},sig1=${value.toString("hex")}`,
  }),
  "bunny-stream": hex("x-bunnystream-signature"),
  ably: base64("x-ably-signature"),
  pusher: hex("x-pusher-signature"),
  hook0: custom("x-hook0-signature", (secret, { body, seconds }) => {
    const signature = mac("sha256", secret, `${seconds}.x-event-id.evt_1.`, body).toString("hex");
    return { headers: { "x-event-id": "evt_1", "x-hook0-signature": `t=${seconds},h=x-event-id,v1=${signature}` } };
  }),
  hookdeck: base64("x-hookdeck-signature"),
  scrapfly: custom("x-scrapfly-webhook-signature", (secret, { body }) => ({
    headers: { "x-scrapfly-webhook-signature": mac("sha256", secret, body).toString("hex").toUpperCase() },
  })),
  meta: hex("x-hub-signature-256", "sha256="),
  whatsapp: hex("x-hub-signature-256", "sha256="),
  x: base64("x-twitter-webhooks-signature", "sha256="),
  linkedin: custom("x-li-signature", (secret, { body }) => ({
    headers: { "x-li-signature": mac("sha256", secret, "hmacsha256=", body).toString("hex") },
  })),
  tiktok: listSigner("tiktok-signature", { write: (time, value) => `t=${time},s=${value.toString("hex")}` }),
  "tiktok-shop": custom(
    "authorization",
    (secret, { body }) => ({ headers: { authorization: mac("sha256", secret, "app-key-1", body).toString("hex") } }),
    { appKey: "app-key-1" },
  ),
  twitch: custom("twitch-eventsub-message-signature", (secret, { body, seconds }) => ({
    headers: {
      "twitch-eventsub-message-id": "msg-1",
      "twitch-eventsub-message-timestamp": iso(seconds),
      "twitch-eventsub-message-signature": `sha256=${mac("sha256", secret, "msg-1", iso(seconds), body).toString("hex")}`,
    },
  })),
  oura: custom("x-oura-signature", (secret, { body, seconds }) => ({
    headers: {
      "x-oura-timestamp": String(seconds),
      "x-oura-signature": mac("sha256", secret, String(seconds), body).toString("hex").toUpperCase(),
    },
  })),
  enode: bodySigner("x-enode-signature", "hex", { prefix: "sha1=", hash: "sha1" }),
  smartcar: hex("sc-signature"),
  workos: listSigner("workos-signature", {
    unit: "ms",
    write: (time, value) => `t=${time}, v1=${value.toString("hex")}`,
  }),
  elevenlabs: listSigner("elevenlabs-signature", { write: (time, value) => `t=${time},v0=${value.toString("hex")}` }),
  retell: custom("x-retell-signature", (secret, { body, seconds }) => {
    const time = milliseconds(seconds);
    return { headers: { "x-retell-signature": `v=${time},d=${mac("sha256", secret, body, time).toString("hex")}` } };
  }),
};
