import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDestinationUrl } from "../../src/core/destination-url.ts";

const STRICT = {
  allowInsecure: false,
  ownHosts: ["hooks.example.com", "spillway.acme.workers.dev:443", "Bücher.example"],
};
const LOCAL = { allowInsecure: true, ownHosts: ["127.0.0.1:8787"] };

const reasonOf = (text: string, policy = STRICT) => {
  const result = parseDestinationUrl(text, policy);
  return result.ok ? "ok" : result.reason;
};

/** Every way of writing one IPv4 address that the URL standard turns into it. */
function spellingsOf(address: readonly [number, number, number, number]): readonly string[] {
  const [a, b, c, d] = address;
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const dotted = address.join(".");
  const hex = (n: number, width = 1) => n.toString(16).padStart(width, "0");
  const groups = `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  return [
    dotted,
    `${dotted}.`,
    String(number),
    `0x${hex(number)}`,
    `0${number.toString(8)}`,
    address.map((part) => `0x${hex(part)}`).join("."),
    address.map((part) => `0${part.toString(8)}`).join("."),
    address.map((part) => `000000${part.toString(8)}`).join("."),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${hex(a)}.0${b.toString(8)}.${c * 256 + d}`,
    dotted.replace(/[0-9.]/g, (char) => (char === "." ? "\u3002" : String.fromCodePoint(0xff10 + Number(char)))),
    dotted.replaceAll(".", "\uff0e"),
    dotted.replaceAll("1", "\u2460"),
    dotted.replace(/./, (char) => `%${hex(char.charCodeAt(0), 2)}`),
    `[::ffff:${dotted}]`,
    `[::ffff:${groups}]`,
    `[0:0:0:0:0:FFFF:${groups}]`,
    `[::${dotted}]`,
    `[64:ff9b::${dotted}]`,
    `[64:ff9b:1::${groups}]`,
    `[2002:${groups}::1]`,
    `[2001:0:${groups}::]`,
    `[2606:4700::5efe:${dotted}]`,
    `[2606:4700::200:5efe:${dotted}]`,
  ];
}

const PRIVATE_BLOCKS: readonly (readonly [number, number, number, number, number])[] = [
  [0, 0, 0, 0, 8],
  [10, 0, 0, 0, 8],
  [100, 64, 0, 0, 10],
  [127, 0, 0, 0, 8],
  [169, 254, 0, 0, 16],
  [172, 16, 0, 0, 12],
  [192, 0, 0, 0, 24],
  [192, 0, 2, 0, 24],
  [192, 168, 0, 0, 16],
  [198, 18, 0, 0, 15],
  [198, 51, 100, 0, 24],
  [203, 0, 113, 0, 24],
  [224, 0, 0, 0, 4],
  [240, 0, 0, 0, 4],
];

const privateAddress = fc
  .tuple(fc.constantFrom(...PRIVATE_BLOCKS), fc.nat(0xffffffff))
  .map(([[a, b, c, d, length], random]): readonly [number, number, number, number] => {
    const hostBits = 2 ** (32 - length);
    const number = ((a * 256 + b) * 256 + c) * 256 + d + (random % hostBits);
    return [(number >>> 24) & 255, (number >>> 16) & 255, (number >>> 8) & 255, number & 255];
  });

describe("[V17] destination URLs", () => {
  test.each([
    "https://api.example.com/internal/webhooks/batch",
    "https://api.example.com:8443/path?tenant=acme",
    "https://8.8.8.8/hook",
    "https://100.63.255.255/",
    "https://100.128.0.1/",
    "https://172.15.255.255/",
    "https://172.32.0.1/",
    "https://192.167.255.255/",
    "https://[2606:4700:4700::1111]/hook",
    "https://[2a00:1450:4001:81b::200e]/",
    "https://localhost.example.com/",
    "https://internal.example.com/",
    "https://xn--bcher-kva.example.org/",
    "https://origin.example.com./hook",
  ])("[V17] %s leads to a public host", (text) => {
    expect(reasonOf(text)).toBe("ok");
  });

  test.each([
    ["", "malformed"],
    ["api.example.com/hook", "malformed"],
    ["/relative", "malformed"],
    ["//api.example.com", "malformed"],
    ["https://", "malformed"],
    ["https://a b.example.com/", "malformed"],
    [" https://api.example.com/", "malformed"],
    ["https://api.example.com/\n", "malformed"],
    ["https://api.exa\tmple.com/", "malformed"],
    ["https:\\\\api.example.com\\hook", "malformed"],
    ["https://300.1.1.1/", "malformed"],
    ["https://1.2.3.4.5/", "malformed"],
    ["https://[::1/", "malformed"],
    ["https://[fe80::1%25eth0]/", "malformed"],
    ["http://api.example.com/", "scheme"],
    ["ftp://api.example.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["data:text/plain,x", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["ws://api.example.com/", "scheme"],
    ["blob:https://api.example.com/x", "scheme"],
    ["https://user@api.example.com/", "credentials"],
    ["https://user:pass@api.example.com/", "credentials"],
    ["https://:pass@api.example.com/", "credentials"],
    ["https://api.example.com@169.254.169.254/", "credentials"],
    ["https://hooks.example.com/webhook/acme", "own-host"],
    ["https://HOOKS.example.com./webhook/acme", "own-host"],
    ["https://hooks.example.com:8443/", "own-host"],
    ["https://spillway.acme.workers.dev/webhook/acme", "own-host"],
    ["https://xn--bcher-kva.example/", "own-host"],
    ["https://bücher.example/", "own-host"],
  ])("[V17] %j is refused as %s", (text, reason) => {
    expect(reasonOf(text)).toBe(reason);
  });

  test.each([
    "https://localhost/",
    "https://LOCALHOST./",
    "https://app.localhost/",
    "https://intranet/",
    "https://metadata/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://instance-data.ec2.internal/",
    "https://printer.local/",
    "https://nas.home.arpa/",
    "https://router.lan/",
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/latest/meta-data/",
    "https://[ff02::1]/",
    "https://[100::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://168.63.129.16/",
    "https://169.254.169.254/latest/meta-data/",
    "https://100.100.100.200/",
    "https://192.0.0.192/",
    "https://255.255.255.255/",
    "https://ⓛocalhost/",
  ])("[V17] %s is not public", (text) => {
    expect(reasonOf(text)).toBe("not-public");
  });

  test("[V17] no spelling of an address that is not public gets through", () => {
    fc.assert(
      fc.property(privateAddress, (address) => {
        for (const spelling of spellingsOf(address)) {
          const reason = reasonOf(`https://${spelling}/hook`);
          expect([reason, spelling]).not.toContain("ok");
        }
      }),
      { numRuns: 300 },
    );
  });

  test("[V17] an IPv6 address is public only in 2000::/3, whatever stands in its other groups", () => {
    const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (address) => {
        const first = address[0] ?? 0;
        const text = address.map((group) => group.toString(16)).join(":");
        if (first < 0x2000 || first > 0x3fff) expect(reasonOf(`https://[${text}]/`)).toBe("not-public");
      }),
    );
  });

  test("[V17] no text at all makes it throw", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.webUrl({ withQueryParameters: true, validSchemes: ["https", "http"] }),
        ),
        (text) => {
          reasonOf(text);
          reasonOf(text, LOCAL);
        },
      ),
    );
  });

  test("[V17] [V33] ALLOW_INSECURE_DESTINATIONS lifts scheme and host, and nothing that could not be called", () => {
    expect(reasonOf("http://127.0.0.1:9000/hook", LOCAL)).toBe("ok");
    expect(reasonOf("http://localhost:9000/hook", LOCAL)).toBe("ok");
    expect(reasonOf("https://[::1]:9000/hook", LOCAL)).toBe("ok");
    expect(reasonOf("ftp://127.0.0.1/", LOCAL)).toBe("scheme");
    expect(reasonOf("http://user@127.0.0.1/", LOCAL)).toBe("credentials");
    expect(reasonOf("nonsense", LOCAL)).toBe("malformed");
  });
});
