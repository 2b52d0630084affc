import { setTimeout as sleep } from "node:timers/promises";
import { StartFailure } from "./failure.ts";
import type { Journal } from "./journal.ts";
import type { DemoOrigin } from "./origin.ts";
import type { Screen } from "./screen.ts";
import type { Answer, Spillway } from "./spillway.ts";
import type { Senders, Webhook } from "./webhooks.ts";

/** Everything a scene plays with. */
export interface Stage {
  readonly screen: Screen;
  readonly senders: Senders;
  readonly spillway: Spillway;
  readonly origin: DemoOrigin;
  readonly journal: Journal;
  /** What did not go as it should have, in words. */
  readonly faults: string[];
}

/** Posts a webhook, enters the promise or the refusal in the journal, and says nothing. */
export async function post(stage: Stage, webhook: Webhook): Promise<Answer> {
  const answer = await stage.spillway.post(webhook);
  const isNew = answer.word !== "deduplicated";
  if (answer.status < 300 && isNew) stage.journal.promise(webhook, answer.eventId);
  if (answer.status >= 300) stage.journal.refuse(webhook);
  return answer;
}

/** Posts a webhook, shows the answer, and notes a fault where it is not the one this scene is about. */
export async function show(stage: Stage, webhook: Webhook, expectedStatus: number): Promise<Answer> {
  const answer = await post(stage, webhook);
  stage.screen.sent(webhook, answer);
  if (answer.status !== expectedStatus) {
    stage.faults.push(
      `${webhook.source} ${webhook.type} was answered ${answer.status} instead of ${expectedStatus}: ${answer.text}`,
    );
  }
  return answer;
}

/** Waits until something is so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) {
      throw new StartFailure(
        `Waited ${timeoutMs / 1_000} s in vain: ${what}.`,
        "This is a fault of Spillway's: please report it.",
      );
    }
    await sleep(50);
  }
}

/** Waits until every promised event is at the origin. */
export function untilAllArrived(stage: Stage): Promise<void> {
  const { journal } = stage;
  return until("every accepted event is at the origin", () => journal.arrivedCount === journal.promisedCount);
}
