import { setTimeout as sleep } from "node:timers/promises";
import colors from "picocolors";
import { DESTINATION } from "./spillway.ts";
import { post, type Stage, show, until, untilAllArrived } from "./stage.ts";
import type { Webhook } from "./webhooks.ts";

/** The demonstration, in the order it is played. */
export const scenes: readonly ((stage: Stage) => Promise<void>)[] = [
  providers,
  duplicates,
  forgeries,
  burst,
  outage,
  poison,
];

async function providers(stage: Stage): Promise<void> {
  const { screen, senders } = stage;
  screen.scene(
    "Five senders, each signing in its own way",
    "The Worker verifies the signature over the exact bytes, the tenant's Durable Object stores the event, and only then " +
      "comes the answer. A moment later the events go to the origin, in one signed batch.",
  );
  const challenge = senders.slackChallenge("3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P");
  const handshake = await stage.spillway.post(challenge);
  const isAnswered = handshake.status === 200 && handshake.text.includes("3eZbrw1a");
  screen.summed(
    "slack",
    "url_verification",
    isAnswered ? `${colors.green(200)} its challenge comes back` : handshake.text,
  );
  if (!isAnswered) stage.faults.push("Slack's challenge was not answered");

  await show(stage, await senders.stripe("invoice.paid"), 202);
  await show(stage, await senders.github("push"), 202);
  await show(stage, senders.shopify("orders/create"), 202);
  await show(stage, senders.slack("app_mention"), 200);
  await show(stage, senders.internal("report.ready", '\ufeff{"a byte order mark": true}\r\n'), 202);
  await show(
    stage,
    senders.internal("image.scanned", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x00, 0xff, 0xfe)),
    202,
  );
  await untilAllArrived(stage);
}

async function duplicates(stage: Stage): Promise<void> {
  const { screen, senders } = stage;
  screen.scene(
    "Duplicates",
    "Providers repeat what they are not sure of. However many copies race, one event is stored.",
  );
  const id = `evt_repeat${Date.now()}`;
  await show(stage, await senders.stripe("charge.refunded", id), 202);
  await show(stage, await senders.stripe("charge.refunded", id), 200);
  await show(stage, await senders.stripe("charge.refunded", id), 200);

  const copy = await senders.github("release");
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(stage, copy)));
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  screen.summed(
    "github",
    "20 copies at once",
    `${count(202)} x ${colors.green("202")}, ${count(200)} x ${colors.green("200")} deduplicated`,
  );
  if (count(202) !== 1 || count(200) !== 19) stage.faults.push("20 racing copies did not become exactly one event");
  await untilAllArrived(stage);
}

async function forgeries(stage: Stage): Promise<void> {
  const { screen, senders } = stage;
  screen.scene(
    "Forgeries",
    "Whatever is wrong with a signature, the sender sees one plain 401; the reason goes to the operator.",
  );
  await show(stage, await senders.github("deployment", "not the secret"), 401);
  const genuine = senders.shopify("orders/paid");
  const altered = new TextEncoder().encode(new TextDecoder().decode(genuine.body).replace("42.00", "00.42"));
  await show(stage, { ...genuine, type: "orders/paid, altered", body: altered }, 401);
  await show(
    stage,
    { ...(await senders.stripe("payout.paid", undefined, 3_600)), type: "payout.paid, an hour old" },
    401,
  );
  const { "x-signature": _, ...unsigned } = senders.internal("unsigned").headers;
  await show(stage, { ...senders.internal("unsigned"), headers: unsigned }, 401);
}

async function burst(stage: Stage): Promise<void> {
  const { screen, senders } = stage;
  screen.scene(
    "A burst",
    "This tenant may bring 60 events in 4 seconds. Beyond that a sender that is known to try again is told when; " +
      "a provider that would not (GitHub) is let through.",
  );
  await sleep(3_000);
  const started = performance.now();
  let waiting = Array.from({ length: 90 }, () => senders.internal("metric.recorded"));
  const pushes = await Promise.all(Array.from({ length: 10 }, () => senders.github("push")));
  for (let round = 1; waiting.length > 0; round += 1) {
    if (round > 20) {
      stage.faults.push(`${waiting.length} events of the burst were refused 20 times`);
      break;
    }
    const answers = await Promise.all(
      waiting.map(async (webhook) => ({ webhook, answer: await post(stage, webhook) })),
    );
    const refused = answers.filter(({ answer }) => answer.status === 429);
    const acceptedCount = answers.filter(({ answer }) => answer.status === 202).length;
    const waits = refused.map(({ answer }) => answer.retryAfterSeconds ?? Number.NaN);
    const told =
      refused.length === 0
        ? ""
        : `, ${refused.length} x ${colors.yellow("429")} (come back in ${Math.min(...waits)} to ${Math.max(...waits)} s)`;
    screen.summed("internal", `${waiting.length} at once`, `${acceptedCount} x ${colors.green("202")}${told}`);
    if (acceptedCount + refused.length !== waiting.length || waits.some(Number.isNaN)) {
      stage.faults.push("the burst was answered with something other than 202 and 429 with Retry-After");
      break;
    }
    if (round === 1) await pushThrough(stage, pushes);
    waiting = refused.map(({ webhook }) => webhook);
    if (waiting.length > 0) await sleep(Math.max(...waits) * 1_000);
  }
  screen.note(`all of it was in after ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  await untilAllArrived(stage);
}

/** GitHub never tries again: over the limit its events are stored all the same. */
async function pushThrough(stage: Stage, pushes: readonly Webhook[]): Promise<void> {
  const answers = await Promise.all(pushes.map((push) => post(stage, push)));
  const acceptedCount = answers.filter((answer) => answer.status === 202).length;
  stage.screen.summed("github", `${pushes.length} at the same time`, `${acceptedCount} x ${colors.green("202")}`);
  if (acceptedCount !== pushes.length)
    stage.faults.push("a push was refused over the limit, and GitHub does not repeat it");
}

async function outage(stage: Stage): Promise<void> {
  const { screen, senders, spillway, origin } = stage;
  screen.scene(
    "The origin goes down",
    "Nothing listens there for some seconds. Senders do not notice: they are still answered 202.",
  );
  await origin.stop();
  screen.note(colors.red("the origin is down"));
  const sources = [
    () => senders.stripe("invoice.created"),
    () => senders.github("issues"),
    () => senders.shopify("carts/update"),
  ];
  const statuses = new Map<number, number>();
  for (let index = 0; index < 36; index += 1) {
    const make = sources[index % sources.length] ?? (() => senders.github("issues"));
    const { status } = await post(stage, await make());
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    await sleep(80);
  }
  const told = [...statuses].map(([status, count]) => `${count} x ${colors.green(status)}`).join(", ");
  screen.summed("three", "36 events meanwhile", told);
  if (statuses.get(202) !== 36) stage.faults.push("events were refused because the origin was down");

  const destination = async () => (await spillway.stats()).destinations[DESTINATION];
  await until("the circuit breaker opens", async () => (await destination())?.state === "open");
  screen.note(`circuit breaker ${colors.yellow("open")}, ${(await destination())?.backlog ?? "?"} events wait`);
  await sleep(1_500);
  await origin.start();
  screen.note(colors.green("the origin is back"));
  await untilAllArrived(stage);
}

async function poison(stage: Stage): Promise<void> {
  const { screen, senders, spillway, origin, journal } = stage;
  screen.scene(
    "A poison event",
    "One event of a batch makes the application crash. Spillway finds it by halving the batch, delivers its neighbours, " +
      "tries it a few times more, and keeps it as a dead letter; once the bug is fixed it is redriven.",
  );
  const poisoned = senders.internal(
    "customer.imported",
    JSON.stringify({ name: "Robert'); DROP TABLE Students;--", n: Date.now() }),
  );
  origin.plantBug((arrival) => Buffer.compare(arrival.body, poisoned.body) === 0);
  const others: Webhook[] = Array.from({ length: 10 }, () => senders.internal("customer.imported"));
  const answers = await Promise.all(
    [...others.slice(0, 5), poisoned, ...others.slice(5)].map((webhook) => post(stage, webhook)),
  );
  screen.summed(
    "internal",
    "11 events, one is poison",
    `${answers.filter((answer) => answer.status === 202).length} x ${colors.green("202")}`,
  );
  const eventId = answers[5]?.eventId ?? "";
  const stateOf = async () => (await spillway.event(eventId)).destinations[DESTINATION];

  await until("the neighbours are delivered", () => others.every((webhook) => journal.hasArrived(webhook)));
  screen.note(`its 10 neighbours are delivered`);
  await until("the poison event is a dead letter", async () => (await stateOf())?.state === "dead", 60_000);
  const dead = await stateOf();
  screen.note(
    `${eventId} is a ${colors.yellow("dead letter")} after ${dead?.attempts.length ?? "?"} requests that held it`,
  );
  origin.fixBug();
  screen.note(colors.green("the bug is fixed; the dead letter is redriven"));
  await spillway.redrive(eventId);
  await untilAllArrived(stage);
}
