import type { Arrival, VerifySource } from "../../src/providers/arrival.ts";
import { providerRow } from "../../src/providers/catalogue.ts";
import type { ProviderRow } from "../../src/providers/row.ts";
import { verify } from "../../src/providers/verify.ts";
import { hmacSigners } from "../providers/signers/hmac.ts";
import { keySigners } from "../providers/signers/keys.ts";
import { otherSigners } from "../providers/signers/other.ts";
import { SAMPLE_BODY, type Signer } from "../providers/signers/signer.ts";
import { NOW_SECONDS, type Oracle, type Received } from "./oracle.ts";

const signers: Readonly<Record<string, Signer>> = { ...hmacSigners, ...otherSigners, ...keySigners };

export const URL_TEXT = "https://hooks.example.com/in/tok";

/** One request, as it was signed. Names of headers are in lower case. */
export interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** An oracle and the row it is held against. */
export class Subject {
  readonly oracle: Oracle;
  readonly row: ProviderRow;
  readonly signer: Signer;

  constructor(oracle: Oracle) {
    const row = providerRow(oracle.provider);
    const signer = signers[oracle.provider];
    if (row === undefined || signer === undefined) throw new Error(`no row or signer ${oracle.provider}`);
    this.oracle = oracle;
    this.row = row;
    this.signer = { ...signer, ...oracle.signer };
  }

  /** How far times may be off, or `null` where neither side looks. */
  get toleranceSeconds(): number | null {
    const { scheme } = this.row;
    if (scheme.kind === "jwt") return scheme.issuedWithinSeconds ?? null;
    const time = "time" in scheme ? scheme.time : undefined;
    return this.oracle.toleranceSeconds ?? time?.toleranceSeconds ?? null;
  }

  /** What the operator configures, and the package is given. */
  configured(secret: string): string {
    return (this.signer.configured ?? String)(secret);
  }

  sign(other: { readonly secret?: string; readonly body?: Uint8Array; readonly seconds?: number } = {}): Sent {
    const { signer, oracle } = this;
    const body = other.body ?? Buffer.from(signer.body ?? SAMPLE_BODY);
    const plain = { body, url: URL_TEXT, seconds: other.seconds ?? NOW_SECONDS };
    const sign = oracle.sign ?? signer.sign;
    const request = sign(other.secret ?? signer.secret, plain);
    const headers = { "content-type": "application/json", ...oracle.headers, ...request.headers };
    return { url: request.url ?? URL_TEXT, headers, body: Buffer.from(request.body ?? body) };
  }

  /** This product's verdict, with the secrets of the given names live. */
  async ours(
    sent: Sent,
    secrets: readonly string[],
    nowSeconds = NOW_SECONDS,
    publicUrl: string | null = null,
  ): Promise<boolean> {
    const source: VerifySource = {
      id: "src",
      secrets: secrets.map((secret) => this.configured(secret)),
      toleranceSeconds: this.oracle.toleranceSeconds ?? null,
      publicUrl,
      params: this.signer.params ?? {},
      verifyToken: null,
      eventId: null,
    };
    const arrival: Arrival = {
      method: "POST",
      url: new URL(sent.url),
      headers: new Headers(sent.headers),
      body: new Uint8Array(sent.body),
      receivedAtMs: nowSeconds * 1000,
    };
    const verdict = await verify(this.row, source, arrival);
    if (verdict.kind === "unusable") throw new Error(verdict.detail);
    return verdict.kind === "genuine";
  }

  /** The package's verdict with one secret; `Date` must have been set. */
  async theirs(sent: Sent, secret: string): Promise<boolean> {
    const params = this.signer.params ?? {};
    const received: Received = { ...sent, method: "POST", text: sent.body.toString("utf8"), params };
    try {
      return await this.oracle.accepts(received, this.configured(secret));
    } catch {
      return false;
    }
  }
}
