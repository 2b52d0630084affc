import type { Results } from "./results.ts";
import { median, type Spread } from "./statistics.ts";
import type { TargetLine } from "./targets.ts";

/** The figures of a run as text for a terminal. */
export function reportText(results: Results, targets: readonly TargetLine[]): string {
  return [
    ...intakeSection(results),
    ...lifeSection(results),
    ...drainSection(results),
    ...backlogSection(results),
    ...redriveSection(results),
    ...targetSection(targets),
  ].join("\n");
}

function intakeSection(results: Results): string[] {
  const subjects = Object.values(results.intake);
  if (subjects.length === 0) return [];
  const rows = subjects.map(({ title, rounds }) => [
    title,
    figure(median(rounds.map((r) => r.perSecond)), 0),
    figure(median(rounds.map((r) => r.p50Ms)), 2),
    figure(median(rounds.map((r) => r.p99Ms)), 1),
    figure(median(rounds.map((r) => r.cpuUsPerEvent)), 0),
    rounds[0]?.commitsPerEvent == null ? "–" : figure(median(rounds.map((r) => r.commitsPerEvent ?? 0)), 3),
    figure(median(rounds.map((r) => r.deliveredPerSecond)), 0),
  ]);
  const fsyncs = results.fsyncsPerEvent;
  return [
    "Intake, medians of the rounds",
    ...table(["", "events/s", "p50 ms", "p99 ms", "CPU µs", "commits", "sent/s"], rows),
    `fsyncs per event, draining, under strace: ${fsyncs === null ? "not measured" : figure(fsyncs, 3)}`,
    "",
  ];
}

function lifeSection(results: Results): string[] {
  if (results.life.length === 0) return [];
  const rows = results.life.map((life) => [
    life.title,
    figure(life.events, 0),
    figure(life.rowsWrittenPerEvent, 3),
    figure(life.rowsReadPerEvent, 3),
    figure(life.setupRows, 0),
    figure(life.segmentsLeft, 0),
    figure(life.storageBytesLeft / 1e6, 1),
  ]);
  return [
    "Rows per event, from accepted to its segment dropped",
    ...table(["", "events", "written", "read", "set-up", "segments left", "MB left"], rows),
    "",
  ];
}

function drainSection(results: Results): string[] {
  const drains = Object.values(results.drain);
  if (drains.length === 0) return [];
  const rows = drains.map(({ title, rounds }) => [
    title,
    figure(median(rounds.map((r) => r.eventsPerSecond)), 0),
    figure(median(rounds.map((r) => r.cpuUsPerEvent)), 1),
  ]);
  return ["Drain of a backlog, origin answers at once", ...table(["", "events/s", "CPU µs"], rows), ""];
}

function backlogSection(results: Results): string[] {
  const levels = Object.entries(results.backlog);
  if (levels.length === 0) return [];
  const rows = levels.map(([level, rounds]) => [
    Number(level).toLocaleString("en"),
    figure(median(rounds.map((r) => r.perSecond)), 0),
    figure(median(rounds.map((r) => r.p50Ms)), 2),
    figure(median(rounds.map((r) => r.loneP50Ms)), 2),
    figure(median(rounds.map((r) => r.cpuUsPerEvent)), 0),
    figure(median(rounds.map((r) => r.rowsWrittenPerInsert)), 3),
    figure(median(rounds.map((r) => r.rowsReadPerInsert)), 3),
    figure(median(rounds.map((r) => r.batchP50Ms)), 2),
    figure(median(rounds.map((r) => r.firstAnswerMs)), 0),
    figure(median(rounds.map((r) => r.storageBytes)) / 1e6, 0),
  ]);
  const head = ["waiting", "events/s", "p50 ms", "lone p50", "CPU µs", "written", "read", "batch ms", "wake ms", "MB"];
  return ["Cost with a backlog, random ids", ...table(head, rows), ""];
}

function redriveSection({ redrive }: Results): string[] {
  if (redrive.length === 0) return [];
  const rows = redrive.map((round) => [
    round.deadLetters.toLocaleString("en"),
    figure(round.redrivenPerSecond, 0),
    figure(round.aloneP50Ms, 2),
    figure(round.duringP50Ms, 2),
    figure(round.duringMaxMs, 0),
  ]);
  const head = ["dead letters", "redriven/s", "p50 without", "p50 during", "max during"];
  return ["Live events to the origin, ms, without and during a redrive", ...table(head, rows), ""];
}

function targetSection(targets: readonly TargetLine[]): string[] {
  const verdict = { true: "reached", false: "not reached", null: "not measured" };
  const rows = targets.map((line) => [
    line.what,
    line.bound,
    line.value === null ? "–" : spreadText(line.value),
    verdict[`${line.isReached}`],
  ]);
  return [
    "Targets: median of the ratios of each round (lowest … highest)",
    ...table(["", "target", "measured", ""], rows),
  ];
}

function spreadText(value: Spread): string {
  return `${value.median.toFixed(3)} (${value.min.toFixed(3)} … ${value.max.toFixed(3)})`;
}

function figure(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
