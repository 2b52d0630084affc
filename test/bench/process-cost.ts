import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

/** The kernel counts processor time in ticks of 10 ms. */
const MICROSECONDS_PER_TICK = 10_000;

/** Processor time, user and system, that a process has used so far with all its threads. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The second field is the program's name in parentheses and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
}

/** Largest resident size so far, in bytes. */
export function peakMemoryBytes(pid: number): number {
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"));
  return Number(peak?.[1] ?? 0) * 1_024;
}

export function hasStrace(): boolean {
  try {
    execFileSync("strace", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Counts `fsync` and `fdatasync` of a process and its threads while `during` runs; null where it may not be traced. */
export async function countFsyncs(pid: number, during: () => Promise<unknown>): Promise<number | null> {
  const strace = spawn("strace", ["-f", "-c", "-e", "trace=fsync,fdatasync", "-p", String(pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  strace.stderr.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  const ended = once(strace, "exit");
  await once(strace.stderr, "data");
  await during();
  strace.kill("SIGINT");
  await ended;
  if (!text.includes("attached")) return null;
  // One row per call: % time, seconds, usecs/call, calls, [errors,] name.
  return text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((cells) => cells.at(-1) === "fsync" || cells.at(-1) === "fdatasync")
    .reduce((sum, cells) => sum + Number(cells[3]), 0);
}
