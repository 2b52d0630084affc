/** A provider hands over its secret [I7]: the one request that may change a tenant, and only while its window is open. */
import type { TakeSecretAnswer } from "../buffer/contract.ts";
import { isWindowOpen } from "../tenants/handshake-window.ts";
import { EXPIRED } from "./deadline.ts";
import type { Passage } from "./passage.ts";
import type { PreparedSource } from "./prepared.ts";
import type { StepParts } from "./step.ts";

/**
 * `taken`: it is stored, and the handshake may be answered. `closed`: nobody expects one, or the source has one already;
 * the tenant's object was asked only if this version of the configuration says that the window is open.
 */
type HandOver = "taken" | "closed" | "failed";

export async function takeSecret(
  parts: StepParts,
  passage: Passage,
  candidate: PreparedSource,
  secret: string,
): Promise<HandOver> {
  if (!isWindowOpen(candidate.config, passage.startedAtMs)) return "closed";
  const { tenant } = passage.route;
  const deadline = passage.callDeadline(candidate.callLimitMs);
  let answer: TakeSecretAnswer | typeof EXPIRED;
  try {
    answer = await deadline.within(
      parts.objects.of(tenant, deadline.leftMs()).takeSecret({ source: candidate.id, secret }),
    );
  } catch {
    return "failed";
  }
  if (answer === EXPIRED) return "failed";
  if (answer.kind === "closed") return "closed";
  await parts.keep(tenant, answer.record, passage.startedAtMs);
  return "taken";
}
