/**
 * What an operator's input means as a whole: names, URLs, and fields that bound each other. It reads the input as it
 * is, not what the schema made of it, so that these problems are named together with those of form [O2].
 */

import { DELIVERY_DEFAULTS } from "../core/delivery/settings.ts";
import { parseDestinationUrl } from "../core/destination-url.ts";
import type { InputProblem } from "../core/problem.ts";
import { keyBytes } from "../providers/key-bytes.ts";
import type { ConfigContext } from "./context.ts";
import { isId } from "./ids.ts";
import { isJsonObject, itemsOf, memberAt, membersOf, numberAt } from "./json.ts";
import { pathText } from "./problems.ts";
import { sourceProblems } from "./source-meaning.ts";

const SOURCES_MAX = 50;
const DESTINATIONS_MAX = 16;
const STORED_BYTES_MAX = 8_000_000_000;

const ID_MESSAGE = "is not a usable id: 1 to 64 of A-Z, a-z, 0-9, _ and -, and no name of JavaScript's own";

/** Every problem of meaning in `input`, none where the input says nothing wrong. Never throws, whatever it is handed. */
export function meaningProblems(input: unknown, context: ConfigContext): InputProblem[] {
  const problems: InputProblem[] = [
    ...reservedKeys(input, []),
    ...storageProblems(input),
    ...placeProblems(input, context),
  ];
  const sources = membersOf(memberAt(input, "sources"));
  if (isJsonObject(memberAt(input, "sources")) && (sources.length === 0 || sources.length > SOURCES_MAX)) {
    problems.push({ path: "sources", message: `must have 1 to ${SOURCES_MAX} sources, and has ${sources.length}` });
  }
  for (const [id, source] of sources) {
    if (!isId(id)) problems.push({ path: pathText(["sources", id]), message: ID_MESSAGE });
    problems.push(...sourceProblems(source, ["sources", id], context));
  }
  const destinations = membersOf(memberAt(input, "destinations"));
  if (destinations.length > DESTINATIONS_MAX) {
    problems.push({
      path: "destinations",
      message: `must have at most ${DESTINATIONS_MAX}, and has ${destinations.length}`,
    });
  }
  for (const [id, destination] of destinations) {
    if (!isId(id)) problems.push({ path: pathText(["destinations", id]), message: ID_MESSAGE });
    problems.push(...destinationProblems(destination, ["destinations", id], input, context));
  }
  if (isJsonObject(input) && destinations.length === 0) problems.push(...defaultDestinationProblems(context));
  problems.push(...alertProblems(input, context));
  return problems;
}

function alertProblems(input: unknown, context: ConfigContext): InputProblem[] {
  const url = memberAt(input, "alerts", "webhookUrl");
  const problems = urlProblems(url, ["alerts", "webhookUrl"], context);
  const secrets = memberAt(input, "alerts", "signingSecrets");
  problems.push(...signingSecretProblems(secrets, ["alerts", "signingSecrets"]));
  if (itemsOf(secrets).length > 0 && memberAt(input, "alerts", "format") === "slack") {
    problems.push({ path: "alerts.signingSecrets", message: 'only goes with "format": "webhook"' });
  }
  if (typeof memberAt(input, "alerts", "silentSourceSeconds") === "number" && numberAt(input, ["shards"], 1) > 1) {
    // Each object sees a part of a source's requests: a quiet one would be called silent.
    problems.push({ path: "alerts.silentSourceSeconds", message: 'needs "shards": 1' });
  }
  return problems;
}

function signingSecretProblems(secrets: unknown, path: readonly string[]): InputProblem[] {
  return itemsOf(secrets).flatMap((secret, index) => {
    if (typeof secret !== "string" || secret === "") return [];
    const bytes = keyBytes("whsec", secret);
    if (bytes.ok) return [];
    const message = `${bytes.detail ?? "can't be used"}: make one with \`openssl rand -base64 32\``;
    return [{ path: pathText([...path, String(index)]), message }];
  });
}

/** `__proto__` is a key like any other in JSON, and the schema passes over it. */
function reservedKeys(value: unknown, path: readonly string[]): InputProblem[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = [...path, name];
    const own = name === "__proto__" ? [{ path: pathText(at), message: "is not a known field" }] : [];
    return [...own, ...reservedKeys(member, at)];
  });
}

/** A promise that the runtime cannot keep is not made [O13]. */
function placeProblems(input: unknown, { hasJurisdiction }: ConfigContext): InputProblem[] {
  const jurisdiction = memberAt(input, "jurisdiction");
  if (typeof jurisdiction !== "string" || hasJurisdiction?.(jurisdiction) !== false) return [];
  const message = "can't be kept here: this runtime has no jurisdictions (a local one never has); leave it out";
  return [{ path: "jurisdiction", message }];
}

function storageProblems(input: unknown): InputProblem[] {
  const problems: InputProblem[] = [];
  const retainBytes = numberAt(input, ["retainBytes"], 2_000_000_000);
  const maxBacklogBytes = numberAt(input, ["maxBacklogBytes"], 4_000_000_000);
  if (retainBytes + maxBacklogBytes > STORED_BYTES_MAX) {
    const path = memberAt(input, "retainBytes") === undefined ? "maxBacklogBytes" : "retainBytes";
    problems.push({ path, message: `must be at most ${STORED_BYTES_MAX} together: retainBytes and maxBacklogBytes` });
  }
  const events = numberAt(input, ["rateLimit", "events"], 100);
  if (numberAt(input, ["shards"], 1) > Math.max(1, events)) {
    problems.push({ path: "shards", message: `must be at most rateLimit.events (${events})` });
  }
  return problems;
}

function defaultDestinationProblems(context: ConfigContext): InputProblem[] {
  const { baseUrl } = context.origin;
  if (baseUrl === null) {
    const message = "is required: name a destination, or set ORIGIN_BASE_URL for the default one";
    return [{ path: "destinations", message }];
  }
  return urlProblems(baseUrl, ["destinations"], context).map((problem) => ({
    ...problem,
    message: `the default destination's ORIGIN_BASE_URL can't be used: ${problem.message}`,
  }));
}

function destinationProblems(
  destination: unknown,
  path: readonly string[],
  input: unknown,
  context: ConfigContext,
): InputProblem[] {
  if (!isJsonObject(destination)) return [];
  const problems: InputProblem[] = [];
  const add = (at: readonly string[], message: string) => problems.push({ path: pathText([...path, ...at]), message });

  const isQueue = memberAt(destination, "kind") === "queue";
  if (isQueue) {
    const queue = memberAt(destination, "queue");
    if (queue === undefined) add(["queue"], 'is required with "kind": "queue"');
    if (typeof queue === "string" && queue !== "" && context.isQueueBound?.(queue) === false) {
      add(["queue"], "names no queue that this Worker is bound to: create one, and bind it in wrangler.toml");
    }
    for (const name of ["url", "bearerToken", "signingSecrets"]) {
      if (Object.hasOwn(destination, name)) add([name], 'belongs into deliverTo with "kind": "queue"');
    }
  } else {
    if (memberAt(destination, "url") === undefined) add(["url"], "is required: the https URL to deliver to");
    for (const name of ["queue", "deliverTo", "maxQueueBacklog"]) {
      if (Object.hasOwn(destination, name)) add([name], 'only goes with "kind": "queue"');
    }
  }
  for (const at of [[], ["deliverTo"]]) {
    problems.push(...urlProblems(memberAt(destination, ...at, "url"), [...path, ...at, "url"], context));
    const secrets = memberAt(destination, ...at, "signingSecrets");
    problems.push(...signingSecretProblems(secrets, [...path, ...at, "signingSecrets"]));
  }

  const openMs = numberAt(destination, ["circuitBreaker", "openMs"], DELIVERY_DEFAULTS.circuitBreaker.openMs);
  if (openMs > numberAt(destination, ["circuitBreaker", "openMsMax"], openMs)) {
    add(["circuitBreaker", "openMsMax"], `must not be less than openMs (${openMs})`);
  }
  if (memberAt(destination, "ordering") === "strict") {
    if (numberAt(destination, ["maxInFlight"], 1) > 1) add(["maxInFlight"], 'must be 1 with "ordering": "strict"');
    if (numberAt(input, ["shards"], 1) > 1) add(["ordering"], '"strict" needs "shards": 1');
  }
  itemsOf(memberAt(destination, "filter", "sources")).forEach((id, index) => {
    if (typeof id === "string" && memberAt(input, "sources", id) === undefined) {
      add(["filter", "sources", String(index)], "is not a source of this tenant");
    }
  });
  return problems;
}

function urlProblems(url: unknown, path: readonly string[], context: ConfigContext): InputProblem[] {
  if (typeof url !== "string" || url === "") return [];
  const checked = parseDestinationUrl(url, {
    allowInsecure: context.allowInsecureDestinations,
    ownHosts: context.ownHosts,
  });
  return checked.ok ? [] : [{ path: pathText(path), message: checked.detail ?? checked.reason }];
}
