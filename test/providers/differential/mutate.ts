import type { Raw } from "./independent.ts";

/** A small generator with a seed, so that a failure can be repeated. */
export type Random = () => number;

export function randomOf(seed: number): Random {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

const SIGNS = [...'abcdefABCDEF0123456789+/=-_.,;: v1t"{}[]&%'];

const textMutations: readonly ((text: string, random: Random) => string)[] = [
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => text.slice(1),
  (text) => text.slice(0, -1),
  (text, random) => text.slice(0, Math.floor(random() * text.length)),
  (text, random) => replaceAt(text, random, pick(random, SIGNS)),
  (text, random) => replaceAt(text, random, ""),
  (text, random) => replaceAt(text, random, pick(random, SIGNS) + pick(random, SIGNS)),
  (text) => `${text}=`,
  (text) => text.replace(/=+$/, ""),
  (text) => ` ${text} `,
  (text) => `${text}, ${text}`,
  (text) => `${text},${text}`,
  (text) => `${text} ${text}`,
  (text) => text.replaceAll("+", "-").replaceAll("/", "_"),
  (text) => text.replace("v1", "v0"),
  (text) => text.replace("sha256=", "sha1="),
  (text) => text.replace(/[0-9]{10}/, (digits) => String(Number(digits) - 301)),
  (text) => text.replace(/[0-9]{10}/, (digits) => `${digits}.0`),
  (text) => text.replace(/[0-9]{10}/, "NaN"),
  (text) => text.split(",").reverse().join(","),
  (text) => text.split(".").reverse().join("."),
  () => "",
  (_, random) => pick(random, SIGNS).repeat(Math.floor(random() * 9_000)),
  (text) => text.repeat(20),
  (text) => `v1,AAAA ${text}`,
  (text) => `v1=00,${text}`,
];

function replaceAt(text: string, random: Random, by: string): string {
  const at = Math.floor(random() * text.length);
  return text.slice(0, at) + by + text.slice(at + 1);
}

const bodyMutations: readonly ((body: Uint8Array, random: Random) => Uint8Array)[] = [
  (body, random) => flip(body, Math.floor(random() * Math.max(1, body.length)), random),
  (body) => body.slice(0, -1),
  (body, random) => body.slice(0, Math.floor(random() * body.length)),
  (body) => Buffer.concat([body, Buffer.from("\n")]),
  (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
  () => new Uint8Array(),
  () => Buffer.from("null"),
  () => Buffer.from("[]"),
  () => Buffer.from("{".repeat(5_000)),
  () => Buffer.from(`${"[".repeat(5_000)}${"]".repeat(5_000)}`),
  () => Buffer.from([0, 255, 254, 128]),
  (body) => Buffer.from(Buffer.from(body).toString().replaceAll(",", " , ")),
  (body) => Buffer.from(Buffer.from(body).toString().split("&").reverse().join("&")),
  (body) => Buffer.concat([body, Buffer.from("&a=b")]),
  (body) => Buffer.from(Buffer.from(body).toString().replace('"value":[', '"value":[{},')),
  (body) => Buffer.from(Buffer.from(body).toString().replace("1130", "1131")),
  (body) => Buffer.from(Buffer.from(body).toString().replace("}}", '},"extra":"__proto__"}')),
];

function flip(body: Uint8Array, at: number, random: Random): Uint8Array {
  const changed = new Uint8Array(body);
  if (at < changed.length) changed[at] = (changed[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  return changed;
}

/** One to three changes to headers, body or address; sometimes none, so that genuine requests stay in the mix. */
export function mutate(request: Raw, random: Random): Raw {
  const headers: Record<string, string> = { ...request.headers };
  let { body, url } = request;
  const changes = Math.floor(random() * 4);
  for (let i = 0; i < changes; i++) {
    const name = pick(random, Object.keys(headers).concat("x-nothing"));
    const choice = random();
    if (choice < 0.55 && headers[name] !== undefined) {
      headers[name] = pick(random, textMutations)(headers[name], random).trim();
    } else if (choice < 0.62) delete headers[name];
    else if (choice < 0.97) body = pick(random, bodyMutations)(body, random);
    else url = `${url.split("?")[0]}?x=${Math.floor(random() * 10)}`;
  }
  return { headers, body, url };
}
