import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { provenanceOf } from "../../scripts/providers-doc/provenance.ts";
import { countRows, providersText, rowsOfTable } from "../../scripts/providers-doc/text.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/PROVIDERS.md"), "utf8");

describe("docs/PROVIDERS.md", () => {
  test("[P1] is what the table and the vectors say (`npm run docs` writes it)", () => {
    expect(page).toBe(providersText());
  });

  test("[P5] every row has a genuine vector, and at least 60 rows have one that is published or an SDK's", () => {
    const { rows, proven, published, sdk, formula } = countRows();
    expect(rows).toBeGreaterThanOrEqual(100);
    expect(proven).toBe(rows);
    expect(published + sdk).toBeGreaterThanOrEqual(60);
    expect(published + sdk + formula).toBe(rows);
    expect(page).toContain(`${rows} rows, ${proven} with a genuine vector: ${published} published, ${sdk} SDK`);
  });

  test.each(rowsOfTable().map((row) => row.name))("[P5] %s says where its vectors come from", (name) => {
    const { best, sources } = provenanceOf(name);
    expect(best).not.toBe("none");
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources) {
      expect(source).not.toBe("");
      if (best === "SDK") expect(source).toMatch(/npm \S+@\d+\.\d+\.\d+/);
    }
  });
});
