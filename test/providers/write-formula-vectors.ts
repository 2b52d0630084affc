/**
 * Writes a genuine request for every row that has none yet, made by the signer of that provider: run it after a row
 * and its signer were added (`node test/providers/write-formula-vectors.ts`). Recorded requests and those of official
 * SDKs are worth more and are never replaced.
 */
import { appendFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { providerNames, providerRow } from "../../src/providers/catalogue.ts";
import { SAMPLE_BODY } from "./signers/signer.ts";
import { signers } from "./signers/signers.ts";
import { vectors } from "./vectors.ts";

const SECONDS = 1_795_910_400;
const URL_TEXT = "https://hooks.example.com/in/tok";

const proven = new Set(
  vectors.filter((vector) => vector.kind === "event" && vector.valid).map((vector) => vector.spec),
);
const lines: string[] = [];
for (const name of providerNames()) {
  const signer = signers[name];
  if (proven.has(name) || signer === undefined) continue;
  const body = Buffer.from(signer.body ?? SAMPLE_BODY);
  const signed = signer.sign(signer.secret, { body, url: URL_TEXT, seconds: SECONDS });
  lines.push(
    JSON.stringify({
      id: `${name}-formula-1`,
      kind: "event",
      provider: name,
      spec: name,
      source: providerRow(name)?.page,
      secret: (signer.configured ?? String)(signer.secret),
      ...(signer.params === undefined ? {} : { params: signer.params }),
      url: signed.url ?? URL_TEXT,
      method: "POST",
      headers: signed.headers,
      body: Buffer.from(signed.body ?? body).toString(),
      valid: true,
      timestamp: SECONDS,
      provenance: "documented-formula",
      note: "",
    }),
  );
}
const file = join(dirname(fileURLToPath(import.meta.url)), "vectors", "formula.jsonl");
if (lines.length > 0) appendFileSync(file, `${lines.join("\n")}\n`);
process.stdout.write(`${lines.length} written\n`);
