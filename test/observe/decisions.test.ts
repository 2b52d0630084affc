import { expect, test } from "vitest";
import { type DataPoints, type Decision, Decisions } from "../../src/observe/decisions.ts";

const stored: Decision = {
  about: "webhook",
  tenant: "acme",
  at: "stripe",
  outcome: "buffered",
  isRoutine: true,
  events: 1,
};
const failed: Decision = {
  about: "delivery",
  tenant: "acme",
  at: "origin",
  outcome: "failed:timeout",
  isRoutine: false,
  events: 50,
  status: null,
  durationMs: 10_000,
};

function recorder() {
  const lines: unknown[][] = [];
  const points: Parameters<DataPoints["writeDataPoint"]>[0][] = [];
  const decisions = new Decisions(
    { writeDataPoint: (point) => void points.push(point) },
    (...line) => void lines.push(line),
    { routineCount: 0 },
  );
  return { lines, points, decisions };
}

test("[O8] of what goes well one in a hundred is logged, and each is a data point", () => {
  const { lines, points, decisions } = recorder();
  for (let each = 0; each < 201; each += 1) decisions.note(stored, 0);
  expect(lines).toHaveLength(3);
  expect(lines[0]).toEqual([
    "info",
    "webhook",
    { tenant: "acme", source: "stripe", outcome: "buffered", events: 1, sampledOneIn: 100 },
  ]);
  expect(points).toHaveLength(201);
  expect(points[0]).toEqual({ indexes: ["acme"], blobs: ["webhook", "stripe", "buffered"], doubles: [1, 0, 0] });
});

test("[O8] what goes wrong is logged, the first of its kind in ten seconds", () => {
  const { lines, points, decisions } = recorder();
  for (let each = 0; each < 5; each += 1) decisions.note(failed, 1_000 + each);
  decisions.note({ ...failed, outcome: "busy", status: 429 }, 1_500);
  decisions.note(failed, 11_000);
  expect(lines.map(([level, event]) => [level, event])).toEqual([
    ["warn", "delivery"],
    ["warn", "delivery"],
    ["warn", "delivery"],
  ]);
  expect(lines[0]?.[2]).toMatchObject({ tenant: "acme", destination: "origin", outcome: "failed:timeout", events: 50 });
  expect(lines[2]?.[2]).toMatchObject({ heldBack: 4 });
  expect(points).toHaveLength(7);
  expect(points[0]?.doubles).toEqual([50, 10_000, 0]);
});

test("[O8] a data set that takes nothing, or none at all, changes nothing", () => {
  const lines: unknown[][] = [];
  const full: DataPoints = {
    writeDataPoint: () => {
      throw new Error("too many data points in this invocation");
    },
  };
  new Decisions(full, (...line) => void lines.push(line)).note(failed, 0);
  new Decisions(null, (...line) => void lines.push(line)).note(failed, 0);
  expect(lines).toHaveLength(2);
});
