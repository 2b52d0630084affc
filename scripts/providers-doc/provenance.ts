import { type Vector, vectors } from "../../test/providers/vectors.ts";

/** Where a row's genuine vectors come from, best first. `none`: it has none, and does not count. */
export type Provenance = "published" | "SDK" | "formula" | "none";

const RANKS: readonly Provenance[] = ["published", "SDK", "formula"];

interface Record {
  readonly best: Provenance;
  /** The sources of the best kind, each once. */
  readonly sources: readonly string[];
}

/** What is recorded for a row: the best provenance of its genuine events and where those come from. */
export function provenanceOf(name: string): Record {
  const genuine = vectors.filter((vector) => vector.kind === "event" && vector.valid && vector.spec === name);
  const best = RANKS.find((rank) => genuine.some((vector) => rankOf(vector) === rank));
  if (best === undefined) return { best: "none", sources: [] };
  const sources = genuine.filter((vector) => rankOf(vector) === best).map((vector) => vector.source);
  return { best, sources: [...new Set(sources)] };
}

function rankOf({ provenance }: Vector): Provenance {
  switch (provenance) {
    case "published":
      return "published";
    case "sdk-signer":
    case "sdk-verified":
      return "SDK";
    case "documented-formula":
      return "formula";
    default:
      return "none";
  }
}
