import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Arrival, VerifySource } from "../../src/providers/arrival.ts";

/** One recorded request, genuine or forged, and what is known of where it came from. */
export interface Vector {
  readonly id: string;
  readonly kind: "event" | "handshake";
  /** The row that is meant. */
  readonly spec: string;
  readonly source: string;
  readonly provenance?: "published" | "sdk-signer" | "sdk-verified" | "documented-formula" | "derived";
  readonly secret?: string;
  readonly secrets?: readonly string[];
  readonly params?: Readonly<Record<string, string>>;
  readonly verifyToken?: string;
  readonly method: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly valid: boolean;
  /** The clock at the receipt, Unix seconds. */
  readonly timestamp?: number;
  readonly reason?: string;
  readonly expectedEventId?: string;
  readonly expectResponse?: {
    readonly status: number;
    readonly body?: string;
    readonly bodyOneOf?: readonly string[];
    readonly bodyEmpty?: boolean;
    readonly json?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

const folder = join(dirname(fileURLToPath(import.meta.url)), "vectors");

export const vectors: readonly Vector[] = readdirSync(folder)
  .filter((name) => name.endsWith(".jsonl"))
  .sort()
  .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
  .filter((line) => line !== "")
  .map((line) => {
    const vector = JSON.parse(line) as Vector & { provider: string };
    return { ...vector, spec: vector.spec ?? vector.provider };
  });

/** Where a vector sets no clock, its scheme has no time limit: any instant will do. */
const ANY_INSTANT_SECONDS = 1_795_910_400;

export function arrivalOf(vector: Vector): Arrival {
  const body =
    vector.bodyBase64 === undefined
      ? new TextEncoder().encode(vector.body ?? "")
      : new Uint8Array(Buffer.from(vector.bodyBase64, "base64"));
  return {
    method: vector.method,
    url: new URL(vector.url ?? "https://hooks.example.com/in/tok"),
    headers: headersOf(vector.headers),
    body: new Uint8Array(body),
    receivedAtMs: (vector.timestamp ?? ANY_INSTANT_SECONDS) * 1000,
  };
}

/** Header values as a server hands them over: one character for each byte of their UTF-8. */
function headersOf(pairs: Readonly<Record<string, string>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(pairs)) headers.set(name, Buffer.from(value, "utf8").toString("latin1"));
  return headers;
}

export function sourceOf(vector: Vector, changes: Partial<VerifySource> = {}): VerifySource {
  const secrets = vector.secrets ?? (vector.secret === undefined || vector.secret === "" ? [] : [vector.secret]);
  return {
    id: "src",
    secrets,
    toleranceSeconds: null,
    publicUrl: vector.url ?? null,
    params: vector.params ?? {},
    verifyToken: vector.verifyToken ?? null,
    eventId: null,
    ...changes,
  };
}
