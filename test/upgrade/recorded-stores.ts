/** Stores and calls as earlier releases left them; `record-store.ts` writes the files, one for each version of the schema. */
import version1 from "./schema-1.json";

export interface RecordedCall {
  readonly atMs: number;
  readonly object: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly answer: unknown;
}

export interface RecordedStore {
  readonly tenant: string;
  readonly recordedAtMs: number;
  /** What makes the object's database as it was. */
  readonly statements: readonly string[];
  /** The calls that led there, in their order. */
  readonly calls: readonly RecordedCall[];
}

export const recordedStores: readonly (readonly [number, RecordedStore])[] = [[1, version1]];

/** Arguments and answers as they were: bytes are written as `{"$bytes": "<base64>"}`. */
export function revived(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(revived);
  if ("$bytes" in value && typeof value.$bytes === "string") {
    return Uint8Array.from(atob(value.$bytes), (character) => character.charCodeAt(0));
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, revived(member)]));
}
