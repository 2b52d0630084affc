/**
 * Writes the vectors that the providers' own packages sign or accept (`node test/oracles/make-vectors.ts`), one for
 * each oracle whose row has nothing better than a written-out formula. Those that are there are kept: a signature with
 * an elliptic curve is never made twice alike. Nothing is written that the package itself does not accept.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mock } from "node:test";
import { type Vector, vectors } from "../providers/vectors.ts";
import { NOW_SECONDS, type Oracle, versionOf } from "./oracle.ts";
import { samples } from "./samples.ts";
import { oracles } from "./sdks/all.ts";
import { Subject, URL_TEXT } from "./subject.ts";

const FILE = join(import.meta.dirname, "../providers/vectors/sdk.jsonl");
// The packages look at the clock.
mock.timers.enable({ apis: ["Date"], now: NOW_SECONDS * 1000 });

const isBetter = (vector: Vector): boolean =>
  vector.kind === "event" && vector.valid && vector.provenance !== "documented-formula";
const proven = new Set(vectors.filter(isBetter).map((vector) => vector.spec));

const lines = readLines();
for (const oracle of oracles) {
  if (proven.has(oracle.provider)) continue;
  lines.push(JSON.stringify(await vectorOf(oracle)));
}
writeFileSync(FILE, `${lines.join("\n")}\n`);
console.log(`${lines.length} vectors in ${FILE}`);
// Some packages keep timers of their own.
process.exit(0);

function readLines(): string[] {
  try {
    return readFileSync(FILE, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

async function vectorOf(oracle: Oracle): Promise<object> {
  const subject = new Subject(oracle);
  const sample = samples[oracle.provider];
  if (sample === undefined) throw new Error(`no sample event of ${oracle.provider}`);
  const { secret } = subject.signer;
  const sent = subject.sign({ body: Buffer.from(sample.body) });
  if (!(await subject.theirs(sent, secret))) throw new Error(`${oracle.package} does not accept its own request`);
  const { params } = subject.signer;
  return {
    id: `${oracle.provider}-sdk-1`,
    kind: "event",
    provider: oracle.provider,
    spec: oracle.provider,
    source: `npm ${oracle.package}@${versionOf(oracle.package)}`,
    secret: subject.configured(secret),
    ...(params === undefined ? {} : { params }),
    method: "POST",
    url: sent.url === URL_TEXT ? URL_TEXT : sent.url,
    headers: { ...sent.headers, ...sample.headers },
    body: sent.body.toString(),
    valid: true,
    timestamp: NOW_SECONDS,
    ...(sample.eventId === undefined ? {} : { expectedEventId: sample.eventId }),
    provenance: oracle.sign === undefined ? "sdk-verified" : "sdk-signer",
    page: subject.row.page,
  };
}
