/**
 * `npm run bench`: the built Worker on plain `workerd`, on 127.0.0.1, against floors in the same run.
 *
 *   --quick        one short round, about two minutes
 *   --only <name>  intake, fsyncs, life, drain, backlog or redrive; may be repeated
 *   --json <file>  writes everything measured there
 *   --page <file>  writes the report into that page, where it has room for figures (docs/FIGURES.md)
 *
 * It reports and judges nothing: the exit code is 0 whether or not the targets are reached.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildBacklogs, measureAtBacklog } from "./backlog.ts";
import { Bench } from "./bench.ts";
import { type Drain, measureDrain, measureDrainFloor } from "./drain.ts";
import { writeFigures } from "./figures-page.ts";
import { measureFsyncs } from "./fsyncs.ts";
import { intakeSubjects, measureIntake } from "./intake.ts";
import { measureLife } from "./life.ts";
import { FULL_PLAN, QUICK_PLAN } from "./plan.ts";
import { measureRedrive } from "./redrive.ts";
import { reportText } from "./report.ts";
import { emptyResults, type Results } from "./results.ts";
import { targetLines } from "./targets.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    json: { type: "string" },
    page: { type: "string" },
  },
});

const startedAt = performance.now();
const say = (text: string) =>
  console.log(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${text}`);

const PHASES: Readonly<Record<string, (bench: Bench, results: Results) => Promise<void>>> = {
  async intake(bench, results) {
    const subjects = intakeSubjects(bench);
    for (let round = 1; round <= bench.plan.rounds; round += 1) {
      for (const subject of subjects) {
        const intake = await measureIntake(bench, subject);
        results.intake[subject.key] ??= { title: subject.title, rounds: [] };
        results.intake[subject.key]?.rounds.push(intake);
        say(
          `round ${round}: ${subject.title}: ${intake.perSecond.toFixed(0)} events/s, p50 ${intake.p50Ms.toFixed(2)} ms`,
        );
      }
    }
  },
  async fsyncs(bench, results) {
    results.fsyncsPerEvent = (await measureFsyncs(bench)).fsyncsPerEvent;
    say(`fsyncs per event: ${results.fsyncsPerEvent?.toFixed(3) ?? "strace is not there, or may not trace"}`);
  },
  async life(bench, results) {
    const { lifeEvents, lifePacedEvents } = bench.plan;
    results.life.push(await measureLife(bench, "50 connections", lifeEvents, null));
    results.life.push(await measureLife(bench, "100 events a second", lifePacedEvents, 100));
    for (const life of results.life)
      say(`${life.title}: ${life.rowsWrittenPerEvent.toFixed(3)} rows written per event`);
  },
  async drain(bench, results) {
    const drains: readonly { key: string; title: string; measure: () => Promise<Drain> }[] = [
      { key: "floor", title: "(d) select, POST unsigned, delete", measure: () => measureDrainFloor(bench) },
      { key: "signed-1", title: "Spillway, signed, 1 in flight", measure: () => measureDrain(bench, 1) },
      { key: "signed-4", title: "Spillway, signed, 4 in flight", measure: () => measureDrain(bench, 4) },
    ];
    for (let round = 1; round <= bench.plan.rounds; round += 1) {
      for (const { key, title, measure } of drains) {
        const drain = await measure();
        results.drain[key] ??= { title, rounds: [] };
        results.drain[key]?.rounds.push(drain);
        say(`round ${round}: ${title}: ${drain.eventsPerSecond.toFixed(0)} events/s`);
      }
    }
  },
  async backlog(bench, results) {
    const dirs = await buildBacklogs(bench);
    say("backlogs are built");
    for (let round = 1; round <= bench.plan.rounds; round += 1) {
      for (const [backlog, dir] of dirs) {
        const measured = await measureAtBacklog(bench, backlog, dir);
        results.backlog[backlog] ??= [];
        results.backlog[backlog]?.push(measured);
        say(
          `round ${round}: ${backlog} waiting: ${measured.perSecond.toFixed(0)} events/s, ` +
            `lone p50 ${measured.loneP50Ms.toFixed(2)} ms, batch ${measured.batchP50Ms.toFixed(2)} ms`,
        );
      }
    }
  },
  async redrive(bench, results) {
    for (let round = 1; round <= bench.plan.rounds; round += 1) {
      const redrive = await measureRedrive(bench);
      results.redrive.push(redrive);
      say(
        `round ${round}: ${redrive.deadLetters} dead letters redriven, ${redrive.redrivenPerSecond.toFixed(0)} a second: ` +
          `live p50 ${redrive.aloneP50Ms.toFixed(1)} ms alone, ${redrive.duringP50Ms.toFixed(1)} ms during`,
      );
    }
  },
};

const wanted = options.only ?? Object.keys(PHASES);
const unknown = wanted.filter((name) => !Object.hasOwn(PHASES, name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}; there are ${Object.keys(PHASES).join(", ")}`);
  process.exit(2);
}

const bench = await Bench.prepare(options.quick ? QUICK_PLAN : FULL_PLAN);
const results = emptyResults();
try {
  for (const name of wanted) await PHASES[name]?.(bench, results);
} finally {
  bench.close();
}
const targets = targetLines(results);
const report = reportText(results, targets);
console.log(`\n${report}`);
if (options.page !== undefined) writeFigures(options.page, report);
if (options.json !== undefined) {
  writeFileSync(options.json, `${JSON.stringify({ plan: bench.plan, results, targets }, null, 2)}\n`);
}
