import { unreachable } from "../core/assert.ts";
import type { Arrival, VerifySource } from "./arrival.ts";
import type { HandshakeAnswer } from "./handshakes/answer.ts";
import { allowOrigin, digestQuery, echoHeader, echoQuery, hmacQuery, probe, verifyToken } from "./handshakes/get.ts";
import type { Handshake } from "./handshakes/handshake.ts";
import { confirmSubscription, echoJson, hmacJson, ping, storeSecret, unsignedPing } from "./handshakes/post.ts";
import { carriesSignature } from "./headers.ts";
import type { ProviderRow } from "./row.ts";
import { verify } from "./verify.ts";

export type { HandshakeAnswer } from "./handshakes/answer.ts";

/** The methods beside POST that a source of this provider answers, for `Allow` [I1]. */
export function handshakeMethods(row: ProviderRow): readonly ("GET" | "HEAD" | "OPTIONS")[] {
  const methods = new Set<"GET" | "HEAD" | "OPTIONS">();
  for (const handshake of row.handshakes) {
    switch (handshake.kind) {
      case "probe":
        for (const method of handshake.methods) methods.add(method);
        break;
      case "allow-origin":
        methods.add("OPTIONS");
        break;
      case "echo-query":
      case "echo-header":
        if (handshake.method === "GET") methods.add("GET");
        break;
      case "verify-token":
      case "hmac-query":
      case "digest-query":
        methods.add("GET");
        break;
      default:
    }
  }
  return [...methods];
}

/**
 * Answers a provider's question about the address, without the origin [P3]. `null`: this is no handshake, or none
 * that may be answered; a POST then goes on to be verified like any event, anything else is rejected.
 */
export async function answerHandshake(
  row: ProviderRow,
  source: VerifySource,
  arrival: Arrival,
): Promise<HandshakeAnswer | null> {
  for (const handshake of row.handshakes) {
    const answer = await answerOne(handshake, row, source, arrival);
    if (answer !== null) return answer;
  }
  return null;
}

async function answerOne(
  handshake: Handshake,
  row: ProviderRow,
  source: VerifySource,
  arrival: Arrival,
): Promise<HandshakeAnswer | null> {
  const isGenuine = async (): Promise<boolean> => (await verify(row, source, arrival)).kind === "genuine";
  switch (handshake.kind) {
    case "echo-query":
      return echoQuery(handshake, arrival);
    case "verify-token":
      return verifyToken(handshake, source, arrival);
    case "echo-header":
      return echoHeader(handshake, arrival);
    case "hmac-query":
      return hmacQuery(handshake, source, arrival);
    case "digest-query":
      return digestQuery(handshake, source, arrival);
    case "probe":
      return probe(handshake, arrival);
    case "allow-origin":
      return allowOrigin(handshake, arrival);
    case "echo-json":
      return echoJson(handshake, source, arrival, isGenuine);
    case "hmac-json":
      return hmacJson(handshake, row, source, arrival, isGenuine);
    case "ping":
      return ping(handshake, source, arrival, isGenuine);
    case "store-secret":
      return storeSecret(handshake, source, arrival);
    case "confirm-subscription":
      return confirmSubscription(handshake, source, arrival, isGenuine);
    case "unsigned-ping":
      return unsignedPing(handshake, arrival, carriesSignature(row, source, arrival.headers));
    default:
      return unreachable(handshake);
  }
}
