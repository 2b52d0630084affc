import { fail, ok, type Result } from "./result.ts";

/** Why a URL may not be a destination; `detail` of the failure says it in words [V17]. */
type UnsafeUrl = "malformed" | "scheme" | "credentials" | "own-host" | "not-public";

export interface UrlPolicy {
  /** Local development: any host and plain http. */
  readonly allowInsecure: boolean;
  /** Host names, with or without a port, under which this Worker itself is reached. */
  readonly ownHosts: readonly string[];
}

/** Names that only a private network resolves, or that name the machine itself. */
const PRIVATE_SUFFIXES = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "home.arpa",
  "invalid",
];

/** IPv4 blocks that are not public (IANA special-purpose registry), and Azure's metadata address: [first, prefix length]. */
const IPV4_NOT_PUBLIC: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/**
 * Parts of the public IPv6 range that are not destinations: protocol assignments with Teredo, documentation, 6to4.
 * Given by the first two groups: [first group, second group, prefix length].
 */
const IPV6_NOT_PUBLIC: readonly (readonly [number, number, number])[] = [
  [0x2001, 0x0000, 23],
  [0x2001, 0x0db8, 32],
  [0x2002, 0x0000, 16],
  [0x3fff, 0x0000, 20],
];

/**
 * Reads a URL that Spillway is to send to, and refuses every one that does not lead to a public host by https [V17].
 *
 * The URL parser of the platform reads it first, so that what is judged is what `fetch` will call: decimal, octal,
 * hexadecimal and full-width spellings of an address have become dotted decimals by then. What a public name resolves
 * to is not known here; the runtime does not connect Workers to private addresses.
 */
export function parseDestinationUrl(text: string, policy: UrlPolicy): Result<URL, UnsafeUrl> {
  // The parser would drop these silently: what a person reads would not be what is called.
  if (/[\s\\]|\p{Cc}/u.test(text) || !URL.canParse(text)) return fail("malformed", "not an absolute URL");
  const url = new URL(text);
  if (url.protocol !== "https:" && !(policy.allowInsecure && url.protocol === "http:")) {
    return fail("scheme", "only https URLs are delivered to");
  }
  if (url.username !== "" || url.password !== "") {
    return fail("credentials", "a URL must not carry credentials; use bearerToken");
  }
  if (policy.allowInsecure) return ok(url);

  const host = bareHost(url);
  if (policy.ownHosts.some((own) => isSameHost(own, host))) return fail("own-host", "this is Spillway's own address");
  return isPublic(host) ? ok(url) : fail("not-public", "the host is not a public one");
}

/** Host without port, in the parser's own spelling, without the trailing dot that means the same host. */
function bareHost(url: URL): string {
  return url.hostname.replace(/\.+$/, "");
}

function isSameHost(own: string, host: string): boolean {
  const text = `https://${own}`;
  return URL.canParse(text) && bareHost(new URL(text)) === host;
}

function isPublic(host: string): boolean {
  if (host.startsWith("[")) return isPublicIpv6(ipv6Groups(host.slice(1, -1)));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return isPublicIpv4(ipv4Number(host));
  if (!host.includes(".")) return false;
  return !PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

function isPublicIpv4(address: number): boolean {
  return !IPV4_NOT_PUBLIC.some(([first, length]) => hasPrefix(address, ipv4Number(first), length));
}

/**
 * Only global unicast (2000::/3) is public: that leaves out loopback, link-local, unique local, multicast, and the
 * forms that embed an IPv4 address (mapped, compatible, NAT64 64:ff9b::/96 and 64:ff9b:1::/48).
 */
function isPublicIpv6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups;
  if (first >>> 13 !== 1) return false;
  // ISATAP: the interface part says 0000:5efe or 0200:5efe, and an IPv4 address follows.
  if ((groups[4] === 0 || groups[4] === 0x200) && groups[5] === 0x5efe) return false;
  const head = first * 0x10000 + second;
  return !IPV6_NOT_PUBLIC.some(([a, b, length]) => hasPrefix(head, a * 0x10000 + b, length));
}

/** Whether two 32-bit numbers agree in their first `length` bits. */
function hasPrefix(address: number, first: number, length: number): boolean {
  const blockSize = 2 ** (32 - length);
  return Math.floor(address / blockSize) === Math.floor(first / blockSize);
}

function ipv4Number(dotted: string): number {
  return dotted.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** The eight groups of an address as the URL parser writes it: hexadecimal throughout, one `::` at most. */
function ipv6Groups(text: string): readonly number[] {
  const [head = "", tail] = text.split("::");
  const groupsOf = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}
