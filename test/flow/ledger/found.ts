/** Sequences that once went wrong: each is tried first, whatever the seed. */
import type { Command } from "./commands.ts";
import { START } from "./settings.ts";

const HOUR_MS = 3_600_000;

export const found: readonly (readonly Command[])[] = [
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "in-flight", during: [{ kind: "erase", at: 0 }], end: "answer" },
    { kind: "run" },
  ],
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "accept", count: 1, type: "y" },
    { kind: "in-flight", during: [{ kind: "erase", at: 3 }], end: "answer" },
    { kind: "in-flight", during: [], end: "answer" },
  ],
  [
    { kind: "accept", count: 3, type: "x" },
    { kind: "in-flight", during: [{ kind: "give-up", destination: "all", at: 2 }], end: "crash" },
  ],
  // What is expired and erased was opened again by a repeat, and then went on being due for ever.
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "give-up", destination: "all", at: 0 },
    { kind: "time", ms: 30 * HOUR_MS },
    { kind: "erase", at: 0 },
    { kind: "duplicate", at: 0 },
    { kind: "redrive", destination: "all", at: 0 },
  ],
  // What was redriven from ahead of the position, and then erased as the next behind it, went on being counted as ahead.
  [
    { kind: "accept", count: 4, type: "x" },
    { kind: "mood", mood: "refuse" },
    {
      kind: "in-flight",
      during: [
        { kind: "give-up", destination: "all", at: 0 },
        { kind: "redrive", destination: "all", at: "all" },
      ],
      end: "answer",
    },
    { kind: "accept", count: 1, type: "x" },
    { kind: "erase", at: 1 },
  ],
  // What was looked at with one filter was forgotten with the object, and passed over by the next one.
  [
    { kind: "accept", count: 2, type: "x" },
    { kind: "mood", mood: "busy" },
    { kind: "run" },
    {
      kind: "reconfigure",
      shape: { some: true, someFilter: "y", ordering: "relaxed", maxInFlight: 1, maxAttempts: 1, fromOldest: false },
    },
    { kind: "evict" },
  ],
  // The gap before a settled range held nothing but an erased event, and what was behind it waited for ever.
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "mood", mood: "gone" },
    { kind: "in-flight", during: [{ kind: "accept", count: 2, type: "x" }], end: "crash" },
    { kind: "erase", at: 0 },
    { kind: "accept", count: 1, type: "x" },
    { kind: "run" },
    { kind: "accept", count: 1, type: "x" },
  ],
  // Of what is sent again event by event the first was given up: the rest was never come to, and the run never ended.
  [
    { kind: "accept", count: 3, type: "x" },
    { kind: "in-flight", during: [], end: "crash" },
    { kind: "in-flight", during: [], end: "crash" },
    { kind: "give-up", destination: "all", at: 2 },
    { kind: "run" },
  ],
  // With nothing on its way a repeat finds what a redrive just before it has left.
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "in-flight", during: [{ kind: "give-up", destination: "all", at: 0 }], end: "answer" },
    {
      kind: "in-flight",
      during: [
        { kind: "redrive", destination: "all", at: "all" },
        { kind: "duplicate", at: 0 },
      ],
      end: "answer",
    },
  ],
  // A destination that began with the oldest has yet to meet what was erased before: erasing that once more moves nothing.
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "erase", at: 0 },
    { kind: "reconfigure", shape: { ...START, some: false } },
    { kind: "reconfigure", shape: { ...START, fromOldest: true } },
    { kind: "erase", at: 0 },
  ],
  // One of these was given up and redriven: without bytes it was due for ever.
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "erase", at: 0 },
    { kind: "reconfigure", shape: { ...START, some: false } },
    { kind: "reconfigure", shape: { ...START, fromOldest: true } },
    { kind: "give-up", destination: "some", at: 0 },
    { kind: "redrive", destination: "some", at: 0 },
  ],
  // Random sequences seldom come to it: what was there before a destination began is replayed to it.
  [
    { kind: "reconfigure", shape: { ...START, some: false } },
    { kind: "accept", count: 1, type: "x" },
    { kind: "reconfigure", shape: START },
    { kind: "replay", destination: "some", at: 0 },
    { kind: "run" },
  ],
];
