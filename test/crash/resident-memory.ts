import { readFileSync } from "node:fs";

/** Resident size of a process now, in bytes. */
export function residentBytes(pid: number): number {
  return statusBytes(pid, "VmRSS");
}

/** The largest it has been since the process began: the kernel's own mark, which misses no moment as samples would. */
export function peakResidentBytes(pid: number): number {
  return statusBytes(pid, "VmHWM");
}

function statusBytes(pid: number, field: string): number {
  const size = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  if (size === undefined) throw new Error(`the kernel says nothing of ${field}`);
  return Number(size) * 1_024;
}
