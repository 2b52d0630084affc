import type { AtBacklog } from "./backlog.ts";
import type { Drain } from "./drain.ts";
import type { Intake } from "./intake.ts";
import type { Results } from "./results.ts";
import { ratios, type Spread, spread } from "./statistics.ts";

/** One figure the product promises itself, and what came of it. `value` is null where nothing was measured. */
export interface TargetLine {
  readonly what: string;
  readonly bound: string;
  readonly value: Spread | null;
  readonly isReached: boolean | null;
}

export function targetLines(results: Results): readonly TargetLine[] {
  const throughput = (intake: Intake) => intake.perSecond;
  const levels = Object.keys(results.backlog)
    .map(Number)
    .toSorted((a, b) => a - b);
  const low = levels[0] ?? 0;
  const high = levels.at(-1) ?? 0;
  const backlogRatio = (field: keyof AtBacklog) =>
    high > low ? ratios(pick(results.backlog[high], field), pick(results.backlog[low], field)) : null;
  const sizes = `${high.toLocaleString("en")} of backlog ÷ ${low.toLocaleString("en")}`;

  return [
    atLeast("intake ÷ (a), delivery paused", 0.32, intakeRatio(results, "stored", "a", throughput)),
    atLeast("intake ÷ (c), delivery paused", 1.9, intakeRatio(results, "stored", "c", throughput)),
    atLeast("intake ÷ (s), delivery paused", 2.3, intakeRatio(results, "stored", "s", throughput)),
    atLeast("intake ÷ (a), draining", 0.28, intakeRatio(results, "draining", "a", throughput)),
    atLeast("intake ÷ (c), draining", 1.5, intakeRatio(results, "draining", "c", throughput)),
    atMost("commits per event, draining", 0.12, commitsPerEvent(results, "draining")),
    atMost(
      "CPU per event ÷ (a), delivery paused",
      3,
      intakeRatio(results, "stored", "a", (i) => i.cpuUsPerEvent),
    ),
    atLeast(
      "intake with an origin that hangs ÷ draining",
      1 / 1.1,
      intakeRatio(results, "hanging", "draining", throughput),
    ),
    atMost("rows written per event, whole life, 50 connections", 2.2, rowsWritten(results)),
    atLeast("drain ÷ (d), signed, 1 in flight", 0.75, drainRatio(results, "signed-1", "floor")),
    atLeast(`intake at ${sizes}`, 0.7, backlogRatio("perSecond")),
    atMost(`intake p50 at ${sizes}`, 1.4, backlogRatio("p50Ms")),
    atMost(`lone event p50 at ${sizes}`, 1.4, backlogRatio("loneP50Ms")),
    atMost(`batch p50 at ${sizes}`, 1.25, backlogRatio("batchP50Ms")),
    atMost("live p50 to the origin during a redrive ÷ without", 1.5, redriveRatio(results)),
  ];
}

function atLeast(what: string, bound: number, value: Spread | null): TargetLine {
  return { what, bound: `≥ ${shown(bound)}`, value, isReached: value === null ? null : value.median >= bound };
}

function atMost(what: string, bound: number, value: Spread | null): TargetLine {
  return { what, bound: `≤ ${shown(bound)}`, value, isReached: value === null ? null : value.median <= bound };
}

function shown(bound: number): string {
  return String(Number(bound.toFixed(2)));
}

function intakeRatio(results: Results, of: string, to: string, figure: (intake: Intake) => number): Spread | null {
  const numerators = results.intake[of]?.rounds.map(figure) ?? [];
  const denominators = results.intake[to]?.rounds.map(figure) ?? [];
  return numerators.length === 0 || denominators.length === 0 ? null : ratios(numerators, denominators);
}

function drainRatio(results: Results, of: string, to: string): Spread | null {
  const rate = (drain: Drain) => drain.eventsPerSecond;
  const numerators = results.drain[of]?.rounds.map(rate) ?? [];
  const denominators = results.drain[to]?.rounds.map(rate) ?? [];
  return numerators.length === 0 || denominators.length === 0 ? null : ratios(numerators, denominators);
}

function redriveRatio({ redrive }: Results): Spread | null {
  const during = redrive.map((round) => round.duringP50Ms);
  return during.length === 0
    ? null
    : ratios(
        during,
        redrive.map((round) => round.aloneP50Ms),
      );
}

function commitsPerEvent(results: Results, key: string): Spread | null {
  const values = results.intake[key]?.rounds.map((intake) => intake.commitsPerEvent) ?? [];
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : spread(known);
}

function rowsWritten(results: Results): Spread | null {
  const [hot] = results.life;
  return hot === undefined ? null : spread([hot.rowsWrittenPerEvent]);
}

function pick(rounds: readonly AtBacklog[] | undefined, field: keyof AtBacklog): number[] {
  return (rounds ?? []).map((round) => round[field]);
}
