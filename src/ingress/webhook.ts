/** A POST of a live tenant: which source, the body, the signature, and then the tenant's object [I2]. */
import { unreachable } from "../core/assert.ts";
import { objectName, shardOf } from "../core/shard.ts";
import { diagnose } from "../providers/diagnose.ts";
import { answerHandshake } from "../providers/handshake.ts";
import { keptHeaders } from "../providers/headers.ts";
import { identify, readable } from "../providers/identify.ts";
import type { ProviderRow } from "../providers/row.ts";
import type { Rejected } from "../providers/verdict.ts";
import { type VerifySource, verify } from "../providers/verify.ts";
import type { TenantConfig } from "../tenants/config.ts";
import { answerIngest, answerQuestion, unavailable } from "./answers.ts";
import { callObject } from "./call-object.ts";
import { bodyDigest, ingestKeys } from "./digests.ts";
import { takeSecret } from "./handed-secret.ts";
import type { Passage } from "./passage.ts";
import { candidatesOf, type PreparedSource, prepareTenant, verifySourceAt } from "./prepared.ts";
import {
  bodyBroken,
  bodyStalled,
  bodyTooLarge,
  notFound,
  sourceUnusable,
  tooManyBodies,
  unauthorized,
} from "./refusals.ts";
import type { Note, Step, StepParts } from "./step.ts";
import type { WebhookArrival } from "./webhook-arrival.ts";

type Refused = Extract<Step, { kind: "refused" }>;

/** Tries a webhook against one version of its tenant's configuration. */
export async function tryWebhook(
  parts: StepParts,
  passage: Passage,
  config: TenantConfig,
  version: number,
): Promise<Step> {
  if (!config.active) return { kind: "refused", response: notFound(), version, note: INACTIVE };
  const { route, request, startedAtMs } = passage;
  const candidates = candidatesOf(prepareTenant(config), route.source, request.headers, startedAtMs);
  if (candidates === null) {
    const detail = `the tenant has no source called ${route.source}`;
    const note = { event: "webhook-rejected", code: "unknown-source", detail } as const;
    return { kind: "refused", response: notFound(), version, note };
  }
  const [first] = candidates;
  if (first === undefined) {
    const note = {
      event: "webhook-rejected",
      code: "missing-signature",
      detail: "no source's signature header",
    } as const;
    return { kind: "refused", response: unauthorized(), version, note };
  }
  const clockMs = parts.fixedClockMs ?? startedAtMs;
  const read = await passage.arrive(config.maxBodyBytes, first.callLimitMs, parts.budget, clockMs);
  switch (read.kind) {
    case "arrived":
      return verifyAndStore(parts, passage, read.arrival, candidates, version);
    case "too-large":
      return { kind: "answer", response: bodyTooLarge(), note: tooLarge(first, config) };
    case "stalled":
      return { kind: "answer", response: bodyStalled() };
    case "broken":
      return { kind: "answer", response: bodyBroken() };
    case "busy":
      return { kind: "answer", response: tooManyBodies() };
    default:
      return unreachable(read);
  }
}

/** Each candidate may recognise the request; the first that does has it [I1]. */
async function verifyAndStore(
  parts: StepParts,
  passage: Passage,
  arrival: WebhookArrival,
  candidates: readonly PreparedSource[],
  version: number,
): Promise<Step> {
  let refused: Refused | null = null;
  for (const candidate of candidates) {
    const { row } = candidate;
    if (row === undefined) {
      refused = unusable(candidate, "this version has no such provider", version);
      continue;
    }
    const source = verifySourceAt(candidate, passage.startedAtMs);
    if (row.handshakes.length > 0) {
      const answer = await answerHandshake(row, source, arrival);
      if (answer !== null) {
        const { storeSecret = null } = answer;
        const taken = storeSecret === null ? "taken" : await takeSecret(parts, passage, candidate, storeSecret);
        if (taken === "taken") return { kind: "answer", response: answerQuestion(answer) };
        if (taken === "failed") return notStored(unavailable(), "secret-not-stored", "the handshake comes again");
      }
    }
    const verdict = await verify(row, source, arrival);
    switch (verdict.kind) {
      case "genuine":
        return store(parts, passage, arrival, candidate, row, version);
      case "rejected":
        refused ??= rejected(candidate, row, source, arrival, verdict, version);
        break;
      case "unusable":
        refused = unusable(candidate, verdict.detail, version);
        break;
      default:
        return unreachable(verdict);
    }
  }
  return refused ?? { kind: "refused", response: unauthorized(), version };
}

function rejected(
  candidate: PreparedSource,
  row: ProviderRow,
  source: VerifySource,
  arrival: WebhookArrival,
  verdict: Rejected,
  version: number,
): Refused {
  const { reason, evidence } = verdict;
  const note: Note = {
    event: "webhook-rejected",
    code: reason,
    source: candidate.id,
    bodySizeBytes: arrival.body.byteLength,
    explain: () => diagnose(row, source, arrival, verdict),
  };
  return {
    kind: "refused",
    response: unauthorized(),
    version,
    note: evidence === undefined ? note : { ...note, detail: evidence },
  };
}

const INACTIVE: Note = {
  event: "webhook-rejected",
  code: "inactive",
  detail: "the tenant is inactive, and senders hear 404 for good",
};

function tooLarge(candidate: PreparedSource, { maxBodyBytes }: TenantConfig): Note {
  const detail = `larger than maxBodyBytes (${maxBodyBytes})`;
  return { event: "webhook-rejected", code: "body-too-large", source: candidate.id, detail };
}

/** The fault is ours: a sender that is told 401 would give up [I7]. */
function unusable(candidate: PreparedSource, detail: string, version: number): Refused {
  const note = { event: "webhook-refused", code: "source-unusable", source: candidate.id, detail } as const;
  return { kind: "refused", response: sourceUnusable(), version, note };
}

async function store(
  parts: StepParts,
  passage: Passage,
  arrival: WebhookArrival,
  candidate: PreparedSource,
  row: ProviderRow,
  version: number,
): Promise<Step> {
  const bodySha256 = await bodyDigest(arrival.body);
  const source = verifySourceAt(candidate, passage.startedAtMs);
  const read = readable(row, arrival);
  const identity = identify(row, source, read instanceof Promise ? await read : read, bodySha256.toHex());
  const { "content-type": contentType = null, ...kept } = keptHeaders(
    row,
    candidate.config.forwardHeaders,
    arrival.headers,
  );
  const headers = JSON.stringify(kept);
  const keys = ingestKeys(identity.eventId, identity.trust, bodySha256);
  const call = {
    tenant: passage.route.tenant,
    version,
    source: candidate.id,
    provider: row.name,
    eventId: identity.eventId,
    trust: identity.trust,
    type: identity.type,
    contentType,
    headers: headers === "{}" ? "" : headers,
    hops: passage.hops,
    overLimit: candidate.overLimit,
    shard: shardOf(keys, candidate.shards),
    brief: true,
    keys,
    body: arrival.body,
  };
  const result = await callObject(parts.objects, call, passage.callDeadline(candidate.callLimitMs));
  if ("wasIdle" in result && result.wasIdle) {
    passage.lifetime.waitUntil(parts.register(objectName(call.tenant, call.shard)));
  }
  switch (result.kind) {
    case "stale":
      return result;
    case "failed":
      return notStored(unavailable(), result.failure, result.detail);
    case "unavailable":
      return notStored(answerIngest(result, row.answer), result.code, "refused by the tenant's object");
    case "unconfigured":
      return notStored(answerIngest(result, row.answer), "unconfigured", "write the tenant's configuration again");
    default: {
      const decided = { source: candidate.id, outcome: result.kind };
      return { kind: "answer", response: answerIngest(result, row.answer), decided };
    }
  }
}

function notStored(response: Response, code: string, detail: string): Step {
  return { kind: "answer", response, note: { event: "webhook-not-stored", code, detail } };
}
