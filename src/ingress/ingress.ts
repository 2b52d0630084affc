/**
 * The public side: a webhook comes in, is verified, and is handed to its tenant's object. The order is that of [I2]:
 * route, hops, size, tenant; then `webhook.ts` goes on with source, body and signature. Nothing that is not verified
 * reaches an object, but for the bounded question whether there is a newer configuration [O4].
 */
import type { TenantObjects } from "../buffer/contract.ts";
import { unreachable } from "../core/assert.ts";
import type { Rejection } from "../core/rejections.ts";
import type { Decision, Decisions } from "../observe/decisions.ts";
import { ThrottledLog } from "../observe/throttled-log.ts";
import type { OutlivesAnswer, TenantCache, TenantLookup } from "../tenants/cache.ts";
import { unavailable } from "./answers.ts";
import { BodyBudget } from "./body-budget.ts";
import { HOPS_MAX, readHops } from "./hops.ts";
import { NewestConfig } from "./newest.ts";
import { Passage } from "./passage.ts";
import { tryQuestion } from "./question.ts";
import { declaredLength } from "./read-body.ts";
import { bodyTooLarge, loop, methodNotAllowed, notFound, sourceUnusable } from "./refusals.ts";
import { RejectionReports, type TurnedAway } from "./rejection-reports.ts";
import { parseRoute } from "./route.ts";
import type { Decided, Note, Step, StepParts } from "./step.ts";
import { tryWebhook } from "./webhook.ts";

interface IngressParts {
  readonly cache: TenantCache;
  readonly objects: TenantObjects;
  readonly now: () => number;
  /** The time signatures are judged by, where it is fixed for conformance runs. */
  readonly fixedClockMs: number | null;
  /** Enters an object in the registry that says that it had been idle [V20](f); never throws. */
  readonly register?: (object: string) => Promise<void>;
  readonly log?: ThrottledLog;
  readonly decisions?: Decisions;
}

/** No provider sends more; beyond it nothing is looked up [I2]. */
const BODY_BYTES_MAX = 26_214_400;
/** How often an object may say that the configuration was old before the sender is sent away [O4]. */
const STALE_COUNT_MAX = 2;
/** How much of a refused request an operator is shown. */
const SHOWN_HEADERS_MAX = 40;
const SHOWN_CHARS_MAX = 100;

export class Ingress {
  readonly #cache: TenantCache;
  readonly #newest: NewestConfig;
  readonly #now: () => number;
  readonly #log: ThrottledLog;
  readonly #decisions: Decisions | null;
  readonly #rejections: RejectionReports;
  readonly #stepParts: StepParts;

  constructor(parts: IngressParts) {
    this.#cache = parts.cache;
    this.#newest = new NewestConfig(parts.objects, parts.cache);
    this.#now = parts.now;
    this.#log = parts.log ?? new ThrottledLog();
    this.#decisions = parts.decisions ?? null;
    const { cache, objects, fixedClockMs, register = async () => {} } = parts;
    this.#rejections = new RejectionReports(objects);
    const keep: StepParts["keep"] = (tenant, record, nowMs) => cache.keep(tenant, record, nowMs);
    this.#stepParts = { objects, budget: new BodyBudget(), fixedClockMs, register, keep };
  }

  /** Answers a request whose path begins with `/webhook/`. */
  handle(request: Request, lifetime: OutlivesAnswer): Response | Promise<Response> {
    const route = parseRoute(request.url);
    if (route === null) return notFound();
    const hops = readHops(request.headers);
    if (hops >= HOPS_MAX) return loop();
    const declaredBytes = declaredLength(request.headers);
    if (declaredBytes !== null && declaredBytes > BODY_BYTES_MAX) return bodyTooLarge();
    return this.#pass(new Passage(request, lifetime, route, hops, declaredBytes, this.#now, this.#now()));
  }

  /** What this isolate turned away of a tenant and has not told its object yet [O7]. */
  pendingRejections(tenant: string): readonly Rejection[] {
    return this.#rejections.pending(tenant);
  }

  /** Tries the request against what memory knows, and again where a newer configuration turns up [O4]. */
  async #pass(passage: Passage): Promise<Response> {
    try {
      const { startedAtMs, lifetime } = passage;
      const { tenant } = passage.route;
      let entry: TenantLookup =
        this.#cache.peek(tenant, startedAtMs) ?? (await this.#cache.load(tenant, startedAtMs, lifetime));
      let mayAsk = true;
      let staleCount = 0;
      for (;;) {
        const step = await this.#try(passage, entry);
        switch (step.kind) {
          case "answer":
            return this.#answer(passage, step.response, step.note, step.decided);
          case "refused": {
            const newer = mayAsk ? await this.#newest.newerThan(tenant, step.version, startedAtMs, lifetime) : null;
            if (newer === null) return this.#answer(passage, step.response, step.note);
            mayAsk = false;
            entry = newer;
            break;
          }
          case "stale":
            staleCount += 1;
            if (staleCount > STALE_COUNT_MAX) return this.#answer(passage, unavailable(), KEEPS_CHANGING);
            entry = await this.#cache.keep(tenant, step.record, startedAtMs);
            break;
          default:
            return unreachable(step);
        }
      }
    } catch (error) {
      // A fault of our own, or an answer of another release: the sender comes again, as for any trouble of ours [I13].
      const detail = error instanceof Error ? error.message : "no error object";
      return this.#answer(passage, unavailable(), { event: "webhook-not-stored", code: "fault", detail });
    } finally {
      passage.end();
    }
  }

  #try(passage: Passage, entry: TenantLookup): Promise<Step> | Step {
    const isPost = passage.request.method === "POST";
    switch (entry.kind) {
      case "live": {
        const { config, version } = entry;
        return isPost
          ? tryWebhook(this.#stepParts, passage, config, version)
          : tryQuestion(this.#stepParts, passage, config, version);
      }
      case "unknown":
      case "deleted":
        // Other methods hear what they hear from a tenant that exists: 405 says nothing about it [I5].
        return { kind: "answer", response: isPost ? notFound() : methodNotAllowed(["POST"]) };
      case "unavailable":
        return { kind: "answer", response: unavailable(), note: NO_CONFIGURATION };
      case "unreadable": {
        const note = { event: "webhook-refused", code: "source-unusable", detail: `sealed: ${entry.reason}` } as const;
        return { kind: "answer", response: sourceUnusable(), note };
      }
      default:
        return unreachable(entry);
    }
  }

  #answer(passage: Passage, response: Response, note?: Note, decided?: Decided): Response {
    const { tenant } = passage.route;
    if (note !== undefined && note.event !== "webhook-not-stored") {
      this.#rejections.note(tenant, turnedAway(passage, note), passage.lifetime);
    } else this.#rejections.flush(tenant, passage.startedAtMs, passage.lifetime);
    if (decided !== undefined) this.#decisions?.note(decisionOf(tenant, decided), passage.startedAtMs);
    if (note !== undefined) {
      const { event, source, code, detail } = note;
      const level = event === "webhook-rejected" ? "warn" : "error";
      const kind = `${event} ${tenant} ${source} ${code}`;
      this.#log.line(kind, passage.startedAtMs, level, event, { tenant, source, code, detail });
      this.#decisions?.count(decisionOf(tenant, { source: source ?? "", outcome: code }));
    }
    return response;
  }
}

/** A request as the operator may be told of it: names of headers, and nothing that could be a secret [I15]. */
function turnedAway({ request, startedAtMs }: Passage, note: Note): TurnedAway {
  const { source = null, code, detail = code, explain = null, bodySizeBytes = null } = note;
  const { headers, method } = request;
  const example = {
    atMs: startedAtMs,
    method,
    contentType: headers.get("content-type")?.slice(0, SHOWN_CHARS_MAX) ?? null,
    userAgent: headers.get("user-agent")?.slice(0, SHOWN_CHARS_MAX) ?? null,
    bodySizeBytes,
    headerNames: [...headers.keys()].slice(0, SHOWN_HEADERS_MAX).map((name) => name.slice(0, SHOWN_CHARS_MAX)),
  };
  return { source, reason: code, detail, explain, example };
}

function decisionOf(tenant: string, { source, outcome }: { source: string; outcome: string }): Decision {
  const isRoutine = outcome === "buffered" || outcome === "deduplicated" || outcome === "reopened";
  return { about: "webhook", tenant, at: source, outcome, isRoutine, events: 1 };
}

const KEEPS_CHANGING: Note = {
  event: "webhook-not-stored",
  code: "stale",
  detail: "the tenant's object named a newer configuration each time it was called",
};

const NO_CONFIGURATION: Note = {
  event: "webhook-not-stored",
  code: "no-configuration",
  detail: "KV does not answer, and memory has no configuration of this tenant",
};
