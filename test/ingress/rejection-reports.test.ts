import { expect, test } from "vitest";
import type { RejectionReport, TenantBufferCalls, TenantObjects } from "../../src/buffer/contract.ts";
import { RejectionReports, type TurnedAway } from "../../src/ingress/rejection-reports.ts";

function recorder() {
  const reports: RejectionReport[] = [];
  const works: Promise<unknown>[] = [];
  const objects: TenantObjects = {
    of: () =>
      ({
        reportRejections: async (report: RejectionReport) => void reports.push(report),
      }) as unknown as TenantBufferCalls,
  };
  const lifetime = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  const done = () => Promise.all(works);
  return { reports, done, lifetime, rejections: new RejectionReports(objects) };
}

function forged(atMs: number, changes: Partial<TurnedAway> = {}): TurnedAway {
  const example = { atMs, method: "POST", contentType: null, userAgent: null, bodySizeBytes: 2, headerNames: [] };
  return { source: "stripe", reason: "signature-mismatch", detail: "", explain: null, example, ...changes };
}

test("[O7] a tenant's object is told of rejections at most once in 30 s, with their count", async () => {
  const { reports, done, lifetime, rejections } = recorder();
  for (let second = 0; second < 60; second += 1) {
    rejections.note("acme", forged(second * 1_000), lifetime);
    await done();
  }
  rejections.note("acme", forged(59_000, { reason: "timestamp-too-old" }), lifetime);
  rejections.note("acme", forged(60_000), lifetime);
  await done();
  expect(reports.map(({ kinds }) => kinds.map(({ reason, count }) => [reason, count]))).toEqual([
    [["signature-mismatch", 1]],
    [["signature-mismatch", 30]],
    [
      ["signature-mismatch", 30],
      ["timestamp-too-old", 1],
    ],
  ]);
  expect(reports[1]?.kinds[0]).toMatchObject({ source: "stripe", firstAtMs: 1_000, lastAtMs: 30_000 });
});

test("[O7] any later request of the tenant tells what is left, and nothing is told twice", async () => {
  const { reports, done, lifetime, rejections } = recorder();
  rejections.note("acme", forged(0), lifetime);
  await done();
  rejections.note("acme", forged(1_000), lifetime);
  rejections.flush("acme", 29_999, lifetime);
  rejections.flush("other", 30_000, lifetime);
  await done();
  expect(reports).toHaveLength(1);
  expect(rejections.pending("acme")).toMatchObject([{ count: 1 }]);
  rejections.flush("acme", 30_000, lifetime);
  rejections.flush("acme", 70_000, lifetime);
  await done();
  expect(reports.map(({ kinds }) => kinds[0]?.count)).toEqual([1, 1]);
  expect(rejections.pending("acme")).toEqual([]);
});

test("[O7] a kind is explained once for each report, and a diagnosis that fails leaves the reason", async () => {
  const { reports, done, lifetime, rejections } = recorder();
  let explained = 0;
  const explain = async (): Promise<string> => `explanation ${++explained}`;
  for (let each = 0; each < 10; each += 1) rejections.note("acme", forged(0, { explain, detail: "no" }), lifetime);
  await done();
  expect(reports[0]?.kinds).toMatchObject([{ count: 10, explanation: "explanation 1" }]);
  const broken = async (): Promise<string> => {
    throw new Error("broken");
  };
  rejections.note("acme", forged(30_000, { explain: broken, detail: "no luck" }), lifetime);
  await done();
  expect(reports[1]?.kinds).toMatchObject([{ count: 1, explanation: "no luck" }]);
  expect(explained).toBe(1);
});

test("[O7] at most twenty kinds are kept, and each tenant has its own", async () => {
  const { reports, done, lifetime, rejections } = recorder();
  rejections.note("acme", forged(0), lifetime);
  await done();
  for (let kind = 0; kind < 30; kind += 1) rejections.note("acme", forged(1_000, { source: `s${kind}` }), lifetime);
  rejections.note("acme", forged(30_000, { source: "s1" }), lifetime);
  rejections.note("other", forged(30_000), lifetime);
  await done();
  expect(reports.map(({ tenant, kinds }) => [tenant, kinds.length])).toEqual([
    ["acme", 1],
    ["acme", 20],
    ["other", 1],
  ]);
});

test("[O7] an object that cannot be reached is nobody's trouble", async () => {
  const { done, lifetime } = recorder();
  const objects: TenantObjects = {
    of: () => {
      throw new Error("overloaded");
    },
  };
  new RejectionReports(objects).note("acme", forged(0), lifetime);
  await expect(done()).resolves.toBeDefined();
});
