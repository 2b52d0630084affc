/** The Worker of `npm run bench:verify`: verifies one request as often as it is asked to, in one of three ways. */
import { providerRow } from "../../../src/providers/catalogue.ts";
import { type Arrival, type VerifySource, verify } from "../../../src/providers/verify.ts";

/** What a run is told: the request as its provider would send it, and which way it is verified. */
export interface Run {
  /** `reads`: as bare, and the headers that the scheme names are read from the request before. */
  readonly way: "bare" | "reads" | "ours";
  readonly count: number;
  readonly provider: string;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly nowMs: number;
  /** For the bare way: the key's bytes, what is signed and the signature, all ready. */
  readonly bare: { readonly key: string; readonly signed: string; readonly signature: string };
}

export default {
  async fetch(request: Request): Promise<Response> {
    const run = (await request.json()) as Run;
    const isGenuine = await (run.way === "ours" ? ourWay(run) : bareWay(run));
    return isGenuine ? new Response("genuine") : new Response("not genuine", { status: 500 });
  },
};

async function bareWay({ bare, count, headers, way }: Run): Promise<boolean> {
  const names = way === "reads" ? Object.keys(headers) : [];
  const request = new Headers(headers);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", Uint8Array.fromBase64(bare.key), algorithm, false, ["verify"]);
  const signed = Uint8Array.fromBase64(bare.signed);
  const signature = Uint8Array.fromBase64(bare.signature);
  for (let i = 0; i < count; i++) {
    for (const name of names) if (request.get(name) === null) return false;
    if (!(await crypto.subtle.verify("HMAC", key, signature, signed))) return false;
  }
  return true;
}

async function ourWay(run: Run): Promise<boolean> {
  const row = providerRow(run.provider);
  if (row === undefined) throw new Error(run.provider);
  const source: VerifySource = {
    id: "src",
    secrets: [run.secret],
    toleranceSeconds: null,
    publicUrl: null,
    params: {},
    verifyToken: null,
    eventId: null,
  };
  const arrival: Arrival = {
    method: "POST",
    url: new URL("https://hooks.example.com/webhook/acme/src"),
    headers: new Headers(run.headers),
    body: new Uint8Array(new TextEncoder().encode(run.body)),
    receivedAtMs: run.nowMs,
  };
  for (let i = 0; i < run.count; i++) {
    if ((await verify(row, source, arrival)).kind !== "genuine") return false;
  }
  return true;
}
