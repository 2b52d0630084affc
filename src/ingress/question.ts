/** A GET, HEAD or OPTIONS by which a provider makes sure of an address [I1] [P3]; it never reaches the object. */
import { answerHandshake, handshakeMethods } from "../providers/handshake.ts";
import type { TenantConfig } from "../tenants/config.ts";
import { answerQuestion } from "./answers.ts";
import type { Passage } from "./passage.ts";
import { type PreparedSource, prepareTenant, verifySourceAt } from "./prepared.ts";
import { methodNotAllowed, unauthorized } from "./refusals.ts";
import type { Step, StepParts } from "./step.ts";
import { WebhookArrival } from "./webhook-arrival.ts";

const NO_BODY = new Uint8Array(0);

/** Tries a request that is no POST against one version of its tenant's configuration. */
export async function tryQuestion(
  parts: StepParts,
  passage: Passage,
  config: TenantConfig,
  version: number,
): Promise<Step> {
  const { request, startedAtMs } = passage;
  const asked = config.active ? askedSource(passage, config) : undefined;
  const methods: readonly string[] = asked?.row === undefined ? [] : handshakeMethods(asked.row);
  if (asked?.row === undefined || !methods.includes(request.method)) {
    return { kind: "refused", response: methodNotAllowed(["POST", ...methods]), version };
  }
  const arrival = new WebhookArrival(request, NO_BODY, parts.fixedClockMs ?? startedAtMs);
  const answer = await answerHandshake(asked.row, verifySourceAt(asked, startedAtMs), arrival);
  if (answer === null || answer.storeSecret !== undefined) {
    const detail = "the provider's question about the address does not fit: compare verifyToken, secret and params";
    const note = { event: "webhook-rejected", code: "handshake", source: asked.id, detail } as const;
    return { kind: "refused", response: unauthorized(), version, note };
  }
  return { kind: "answer", response: answerQuestion(answer) };
}

/** The named source, or the only one: a question carries no signature by which one of several could be told. */
function askedSource(passage: Passage, config: TenantConfig): PreparedSource | undefined {
  const { list, sources } = prepareTenant(config);
  const { source } = passage.route;
  if (source !== null) return sources.get(source);
  return list.length === 1 ? list[0] : undefined;
}
