import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Arrival, VerifySource } from "../../src/providers/arrival.ts";
import { diagnose } from "../../src/providers/diagnose.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrival, row, source, T } from "./sources.ts";

async function explain(name: string, from: VerifySource, request: Arrival): Promise<string> {
  const verdict = await verify(row(name), from, request);
  if (verdict.kind !== "rejected") throw new Error(`${verdict.kind}, not rejected`);
  return diagnose(row(name), from, request, verdict);
}

const BODY = '{ "id": "evt_1", "livemode": false }';
const hex = (secret: string | Uint8Array, text: string) => createHmac("sha256", secret).update(text).digest("hex");
const github = (secret: string | Uint8Array, body = BODY) => ({ "x-hub-signature-256": `sha256=${hex(secret, body)}` });

describe("a failed verification explains itself", () => {
  test("[O7] another secret, or an altered body", async () => {
    const words = await explain("github", source(["right"]), arrival(github("wrong"), "{}"));
    expect(words).toBe("signed with another secret, or the body was altered on its way");
    expect(await explain("github", source(["a", "b"]), arrival(github("wrong"), "{}"))).toContain("none of 2 secrets");
  });

  test("[O7] a secret of the other mode", async () => {
    const header = { "stripe-signature": `t=${T},v1=${hex("whsec_other", `${T}.${BODY}`)}` };
    expect(await explain("stripe", source(["whsec_live"]), arrival(header, BODY))).toContain("test mode");
  });

  test("[O7] how far the clocks are apart", async () => {
    const at = (seconds: number) => {
      const header = { "stripe-signature": `t=${seconds},v1=${hex("s", `${seconds}.${BODY}`)}` };
      return explain("stripe", source(["s"]), arrival(header, BODY));
    };
    expect(await at(T - 412)).toContain("412 s before it came");
    expect(await at(T + 412)).toContain("412 s ahead");
  });

  test("[O7] a line end in the secret", async () => {
    expect(await explain("github", source(["s"]), arrival(github("s\n"), BODY))).toContain("line end");
    expect(await explain("github", source(["s\n"]), arrival(github("s"), BODY))).toContain("white space");
  });

  test("[O7] a secret that is read in another form", async () => {
    const key = Buffer.from("sixteen bytes at least");
    const base64 = key.toString("base64");
    expect(await explain("github", source([base64]), arrival(github(key), BODY))).toContain("decoded from base64");
    expect(await explain("stripe", source([base64]), stripe(`whsec_${base64}`))).toContain("lacks its whsec_");
    expect(await explain("stripe", source([`whsec_${base64}`]), stripe(base64))).toContain("without its whsec_");

    function stripe(secret: string): Arrival {
      return arrival({ "stripe-signature": `t=${T},v1=${hex(secret, `${T}.${BODY}`)}` }, BODY);
    }
  });

  test("[O7] a body that was written again, or lost its end, on its way", async () => {
    const compact = JSON.stringify(JSON.parse(BODY));
    expect(await explain("github", source(["s"]), arrival(github("s", compact), BODY))).toContain("written again");
    expect(await explain("github", source(["s"]), arrival(github("s", `${BODY}\r\n`), BODY))).toContain(
      "final line end",
    );
    expect(await explain("github", source(["s"]), arrival(github("s"), `${BODY} `))).toContain(
      "white space at its end",
    );
  });

  test("[O7] the signature of another provider", async () => {
    const request = arrival({ "stripe-signature": `t=${T},v1=00` }, BODY);
    expect(await explain("github", source(["s"]), request)).toContain("stripe");
    expect(await explain("github", source(["s"]), arrival({}, BODY))).toContain("no signature");
  });

  test("[O7] [FR 40] another address on record", async () => {
    const square = (url: string) => ({
      "x-square-hmacsha256-signature": createHmac("sha256", "s")
        .update(url + BODY)
        .digest("base64"),
    });
    const from = source(["s"], { publicUrl: "https://hooks.example.com/a" });
    const at = (url: string) => explain("square", from, arrival(square(url), BODY));
    expect(await at("http://hooks.example.com/a")).toContain("http://");
    expect(await at("https://hooks.example.com/a/")).toContain("slash");
    expect(await at("https://buf.test/webhook/t")).toContain("the request itself");
  });

  test("[O7] a token with something around it", async () => {
    const at = (shown: string) => explain("okta", source(["tok-1"]), arrival({ authorization: shown }, "{}"));
    expect(await at("Bearer tok-1")).toContain("after a Bearer");
    expect(await at("tok-2")).toContain("another secret");
  });

  test("[I15] no explanation holds a secret, a query or a byte of the body", async () => {
    const secret = "the-very-secret-secret";
    const url = "https://buf.test/webhook/t?key=query-secret";
    const body = '{"private":"body-secret"}';
    for (const name of ["github", "stripe", "square", "twilio", "okta", "netlify", "adyen", "hubspot-v1"]) {
      const headers = { ...github("x", body), "stripe-signature": "t=1,v1=00", authorization: "wrong-secret" };
      const from = source([secret], { publicUrl: url });
      const verdict = await verify(row(name), from, arrival(headers, body, { url }));
      if (verdict.kind !== "rejected") continue;
      const words = await diagnose(row(name), from, arrival(headers, body, { url }), verdict);
      expect(words).not.toMatch(/very-secret|query-secret|body-secret|wrong-secret/);
    }
  });
});
