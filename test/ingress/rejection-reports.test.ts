import { expect, test } from "vitest";
import type { RejectionReport, TenantBufferCalls, TenantObjects } from "../../src/buffer/contract.ts";
import { RejectionReports } from "../../src/ingress/rejection-reports.ts";

function recorder() {
  const reports: RejectionReport[] = [];
  const calls: Promise<unknown>[] = [];
  const objects: TenantObjects = {
    of: () =>
      ({
        reportRejections: async (report: RejectionReport) => void reports.push(report),
      }) as unknown as TenantBufferCalls,
  };
  const lifetime = { waitUntil: (work: Promise<unknown>) => void calls.push(work) };
  return { reports, calls, lifetime, rejections: new RejectionReports(objects) };
}

const forged = { source: "stripe", reason: "signature-mismatch", example: "signed with another secret" };

test("[O7] a tenant's object is told of rejections at most once in 30 s, with their count", () => {
  const { reports, lifetime, rejections } = recorder();
  for (let second = 0; second < 60; second += 1) rejections.note("acme", forged, second * 1_000, lifetime);
  rejections.note("acme", { ...forged, reason: "timestamp-too-old" }, 59_000, lifetime);
  rejections.note("acme", forged, 60_000, lifetime);
  expect(reports.map(({ kinds }) => kinds.map(({ reason, count }) => [reason, count]))).toEqual([
    [["signature-mismatch", 1]],
    [["signature-mismatch", 30]],
    [
      ["signature-mismatch", 30],
      ["timestamp-too-old", 1],
    ],
  ]);
  expect(reports[1]?.kinds[0]).toMatchObject({ ...forged, firstAtMs: 1_000, lastAtMs: 30_000 });
});

test("[O7] at most twenty kinds are kept, and each tenant has its own", () => {
  const { reports, lifetime, rejections } = recorder();
  rejections.note("acme", forged, 0, lifetime);
  for (let kind = 0; kind < 30; kind += 1) rejections.note("acme", { ...forged, source: `s${kind}` }, 1_000, lifetime);
  rejections.note("acme", { ...forged, source: "s1" }, 30_000, lifetime);
  rejections.note("other", forged, 30_000, lifetime);
  expect(reports.map(({ tenant, kinds }) => [tenant, kinds.length])).toEqual([
    ["acme", 1],
    ["acme", 20],
    ["other", 1],
  ]);
});

test("[O7] an object that cannot be reached is nobody's trouble", async () => {
  const { calls, lifetime } = recorder();
  const objects: TenantObjects = {
    of: () => {
      throw new Error("overloaded");
    },
  };
  new RejectionReports(objects).note("acme", forged, 0, lifetime);
  await expect(Promise.all(calls)).resolves.toBeDefined();
});
