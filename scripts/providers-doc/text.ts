import { overLimitAction } from "../../src/providers/answers.ts";
import { providerNames, providerRow } from "../../src/providers/catalogue.ts";
import type { ProviderRow } from "../../src/providers/row.ts";
import { identityWords, laterWords, proofWords, strengthWords } from "./proof.ts";
import { type Provenance, provenanceOf } from "./provenance.ts";
import { answerWords, code, duration, handshakeWords, place, retryWords } from "./words.ts";

/** The numbers the page begins with. */
interface ProviderCounts {
  readonly rows: number;
  /** Rows with at least one genuine vector. */
  readonly proven: number;
  readonly published: number;
  readonly sdk: number;
  readonly formula: number;
}

export function rowsOfTable(): readonly ProviderRow[] {
  return providerNames().flatMap((name) => providerRow(name) ?? []);
}

export function countRows(): ProviderCounts {
  const best = rowsOfTable().map((row) => provenanceOf(row.name).best);
  const count = (wanted: Provenance): number => best.filter((one) => one === wanted).length;
  return {
    rows: best.length,
    proven: best.length - count("none"),
    published: count("published"),
    sdk: count("SDK"),
    formula: count("formula"),
  };
}

/** The whole of docs/PROVIDERS.md, from the table and the vectors. */
export function providersText(): string {
  const { rows, proven, published, sdk, formula } = countRows();
  const sorted = rowsOfTable().toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [
    "# Providers",
    "",
    "Written by `npm run docs` from the table in `src/providers/catalogue` and the vectors in `test/providers/vectors`;",
    "a test compares this page with both. Change the table, not this page.",
    "",
    `**${rows} rows, ${proven} with a genuine vector: ${published} published, ${sdk} SDK, ${formula} formula.**`,
    "A row counts by the best of its genuine vectors: *published* by the provider's documentation or in its packages' own",
    "tests, made or accepted by its official *SDK* (or the library its documentation says to verify with), or made by the",
    "*formula* of its documentation.",
    "",
    "To take webhooks of one of them, write the name that stands behind its title, and its secret, into the tenant's",
    "configuration, where the left-hand name is yours to choose:",
    "",
    "```json",
    '{ "sources": { "shop": { "provider": "shopify", "secrets": ["…"] } } }',
    "```",
    "",
    "Then give the provider the address `/webhook/<tenant>/shop`, at the place that *Add it* names. Where *Params* stands,",
    '`"params": { … }` goes beside the secrets. A sender that is not here signs as one of the `generic` rows do, or is described',
    'with `"provider": "custom"`.',
    "",
    "Every event that Spillway delivers was verified on receipt, and every batch carries Spillway's own signature, which is",
    "what an origin should check. *Later* says what an origin can do beyond that, with the provider's own proof: the bytes",
    "are delivered exactly as they came, so the provider's own package can be handed them.",
    "",
    sorted.map((row) => `[${row.name}](#${anchorOf(row)})`).join(" · "),
    "",
    ...sorted.flatMap(section),
  ].join("\n");
}

function section(row: ProviderRow): string[] {
  const { best, sources } = provenanceOf(row.name);
  const params = (row.params ?? []).map(({ name, needed, about }) => {
    const when = needed === "always" ? "needed" : needed === "never" ? "optional" : "needed without a secret";
    return `${code(name)} (${when}: ${about})`;
  });
  const types = row.identity.types.map((type) => (typeof type === "string" ? [type] : type).map(place).join(" + "));
  const limit = `${duration(row.timeLimitMs / 1000)}${row.timeLimitIs === "assumed" ? " (assumed)" : ""}`;
  const lines: [string, string][] = [
    ["Add it", row.setup.addAt],
    ["Secret", row.setup.secret],
    ["Params", params.join(", ")],
    ["Proof", `${proofWords(row)}; it proves ${strengthWords(row)}`],
    ["Event id", identityWords(row)],
    ["Event type", types.length === 0 ? "none" : types.join(", else ")],
    ["Handshake", row.handshakes.map(handshakeWords).join("; ")],
    ["Answer", `${answerWords(row)}; within ${limit}`],
    ["Retries", `${retryWords(row)}; ${row.identity.retriesChangeBody ? "they change the body" : "the same bytes"}`],
    ["Gives up", row.retry.disables ?? ""],
    ["Over the limit", overLimitAction(row, "auto") === "reject" ? "refused, it comes again" : "stored all the same"],
    ["Later", laterWords(row)],
    ["Vectors", best === "none" ? "none" : `${best} — ${sources.map(sourceText).join(", ")}`],
    ["Page", `<${row.page}>`],
    ["Note", row.note ?? ""],
  ];
  return [
    `## ${headingOf(row)}`,
    "",
    ...lines.filter(([, text]) => text !== "").map(([name, text]) => `- **${name}:** ${text}`),
    "",
  ];
}

const headingOf = (row: ProviderRow): string => `${row.title} ${code(row.name)}`;

/** As GitHub makes anchors of headings: no punctuation, and a hyphen for each space. */
const anchorOf = (row: ProviderRow): string =>
  headingOf(row)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

const sourceText = (source: string): string => source.replaceAll("https://", "").replaceAll(/[<>|]/g, " ");
