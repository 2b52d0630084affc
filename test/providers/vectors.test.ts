import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { providerNames, providerRow } from "../../src/providers/catalogue.ts";
import { identify } from "../../src/providers/identify.ts";
import type { ProviderRow } from "../../src/providers/row.ts";
import type { RejectionReason } from "../../src/providers/verdict.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrivalOf, sourceOf, type Vector, vectors } from "./vectors.ts";

const events = vectors.filter((vector) => vector.kind === "event");

function rowOf(vector: Vector): ProviderRow {
  const row = providerRow(vector.spec);
  if (row === undefined) throw new Error(`no row ${vector.spec}`);
  return row;
}

describe("recorded requests", () => {
  test.each(events.filter((vector) => vector.valid).map((vector) => [vector.id, vector] as const))(
    "[P5] %s is genuine",
    async (_, vector) => {
      const row = rowOf(vector);
      const source = sourceOf(vector);
      const arrival = arrivalOf(vector);
      expect(await verify(row, source, arrival)).toMatchObject({ kind: "genuine" });
      if (vector.expectedEventId !== undefined) {
        const bodyDigest = createHash("sha256").update(arrival.body).digest("hex");
        const identity = await identify(row, source, arrival, bodyDigest);
        expect(identity.eventId).toBe(`src:${vector.expectedEventId}`);
      }
    },
  );
});
