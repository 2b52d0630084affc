import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesFromBase64, bytesFromBase64Url, bytesFromHex, crc32, hexFromBytes } from "../../src/providers/bytes.ts";
import { rawP256Signature } from "../../src/providers/der.ts";
import { JsonText } from "../../src/providers/json-body.ts";
import { parseTime } from "../../src/providers/timestamps.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrival, row, source, T } from "./sources.ts";

const bytes = fc.uint8Array({ minLength: 1, maxLength: 100 });

describe("text forms of bytes", () => {
  test("[I8] what an encoder writes is read back, and nothing else of that length is", () => {
    fc.assert(
      fc.property(bytes, (value) => {
        const buffer = Buffer.from(value);
        expect(bytesFromHex(buffer.toString("hex"))).toEqual(new Uint8Array(value));
        expect(bytesFromHex(buffer.toString("hex").toUpperCase())).toEqual(new Uint8Array(value));
        expect(bytesFromBase64(buffer.toString("base64"))).toEqual(new Uint8Array(value));
        expect(bytesFromBase64Url(buffer.toString("base64url"))).toEqual(new Uint8Array(value));
        expect(hexFromBytes(value)).toBe(buffer.toString("hex"));
      }),
    );
  });

  test("[I8] a text is read as base64 only where it is the one spelling of its bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."AZaz09+/=-_ "), maxLength: 12 }), (text) => {
        const read = bytesFromBase64(text);
        const canonical = Buffer.from(text, "base64").toString("base64") === text && text !== "";
        expect(read !== null).toBe(canonical);
      }),
      { numRuns: 2_000 },
    );
  });

  test("[I8] no text makes a decoder throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 50 }), (text) => {
        for (const decode of [bytesFromHex, bytesFromBase64, bytesFromBase64Url]) decode(text);
        for (const unit of ["seconds", "milliseconds", "rfc3339"] as const) parseTime(text, unit);
      }),
    );
  });

  test("[P2] the checksum is that of the standard", () => {
    expect(crc32(Buffer.from("123456789"))).toBe(0xcbf43926);
    expect(crc32(new Uint8Array())).toBe(0);
  });

  test("[I8] no bytes make the DER reader throw, and only whole signatures are read", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (value) => {
        const read = rawP256Signature(value);
        expect(read === null || read.length === 64).toBe(true);
      }),
    );
    expect(rawP256Signature(Buffer.from("3006020101020102", "hex"))?.[63]).toBe(2);
    expect(rawP256Signature(Buffer.from("300602010102010200", "hex"))).toBeNull();
  });
});

describe("times", () => {
  test.each([
    ["2026-11-29T00:00:00Z", T * 1000],
    ["2026-11-29T00:00:00", T * 1000],
    ["2026-11-29T00:00:00.123456789Z", T * 1000 + 123],
    ["2026-11-29T01:00:00+01:00", T * 1000],
    ["2026-11-29T01:00:00+0100", T * 1000],
    ["2026-11-29 00:00:00Z", T * 1000],
    ["2026-11-29", null],
    ["Sun, 29 Nov 2026 00:00:00 GMT", null],
    ["2026-13-29T00:00:00Z", null],
    ["1795910400", null],
    ["", null],
  ])("[I10] %s as RFC 3339", (text, timeMs) => expect(parseTime(text, "rfc3339")).toBe(timeMs));
});

describe("JSON by pointers", () => {
  test("[D8] what a pointer finds is what JSON.parse finds, and a number keeps its digits", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2, "\t"), (json, space) => {
        const text = JSON.stringify(json, null, space);
        const read = JsonText.parse(text);
        const walk = (node: unknown, tokens: string[]): void => {
          const found = read?.at(tokens) ?? null;
          if (typeof node === "number") {
            expect(found).toMatchObject({ kind: "number" });
            expect(Object.is(Number(found !== null && "text" in found ? found.text : "x"), node)).toBe(true);
          } else if (typeof node === "string") expect(found).toEqual({ kind: "string", text: node });
          else if (typeof node === "boolean") expect(found).toEqual({ kind: "boolean", text: String(node) });
          else if (node === null) expect(found).toEqual({ kind: "null" });
          else for (const [key, child] of Object.entries(node as object)) walk(child, [...tokens, key]);
        };
        walk(JSON.parse(text), []);
      }),
    );
  });

  test("[D8] inherited names are not found", () => {
    const read = JsonText.parse('{"a":[1],"__proto__":{"b":1}}');
    for (const tokens of [["constructor"], ["toString"], ["a", "length"], ["a", "-1"], ["a", "01"], ["b"]]) {
      expect(read?.at(tokens)).toBeNull();
    }
    expect(read?.textAt(["__proto__", "b"])).toBe("1");
  });
});

test("[I8] requests that are verified at the same time do not meet in a shared buffer", async () => {
  const secret = "one secret for all of these";
  const sizes = [0, 1, 100, 1_000, 65_000, 65_600, 200_000];
  const verdicts = await Promise.all(
    Array.from({ length: 300 }, (_, index) => {
      const body = Buffer.alloc(sizes[index % sizes.length] ?? 0, index);
      const hex = (...parts: (string | Uint8Array)[]) => {
        const hmac = createHmac("sha256", secret);
        for (const part of parts) hmac.update(part);
        return hmac.digest("hex");
      };
      const genuine = index % 3 !== 0;
      const signature = genuine ? hex(`${T}.`, body) : hex(`${T}.`, body, "x");
      return verify(row("stripe"), source([secret]), arrival({ "stripe-signature": `t=${T},v1=${signature}` }, body));
    }),
  );
  expect(verdicts.map((verdict) => verdict.kind === "genuine")).toEqual(verdicts.map((_, index) => index % 3 !== 0));
});
