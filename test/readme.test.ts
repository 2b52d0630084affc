import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { metricsOf } from "../src/admin/metrics.ts";
import { PASSING_ALERTS, STANDING_ALERTS } from "../src/core/alert-rules.ts";
import { parseConfig } from "../src/tenants/parse.ts";

const projectDir = join(import.meta.dirname, "..");
const readme = readFileSync(join(projectDir, "README.md"), "utf8");
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/** The first block of code of this language. */
function codeBlock(language: string): string {
  return new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1] ?? "";
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Runs the README's receiver as a reader would, inside the project so that it finds the library. */
async function startReceiver(): Promise<string> {
  const dir = join(projectDir, ".spillway");
  mkdirSync(dir, { recursive: true });
  const path = join(dir, `readme-${process.pid}.mjs`);
  writeFileSync(path, codeBlock("js"));
  const port = await freePort();
  const child = spawn(process.execPath, [path], {
    env: { ...process.env, PORT: String(port), SIGNING_SECRET: SECRET },
    stdio: "ignore",
  });
  onTestFinished(() => {
    child.kill();
    rmSync(path);
  });
  const url = `http://127.0.0.1:${port}/`;
  while (child.exitCode === null) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return url;
    await sleep(20);
  }
  throw new Error("the README's receiver does not start");
}

async function deliver(url: string, batch: unknown, secret = SECRET): Promise<{ status: number; text: string }> {
  const payload = JSON.stringify(batch);
  const now = new Date();
  const response = await fetch(url, {
    method: "POST",
    body: payload,
    headers: {
      "webhook-id": "batch_1",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign("batch_1", now, payload),
    },
  });
  return { status: response.status, text: await response.text() };
}

test("[V2] [V23] the README's receiver verifies, names the events it could not process, and knows those it has seen", async () => {
  const url = await startReceiver();
  const good = { id: "a", type: "t", body: "text" };
  const binary = { id: "b", type: null, bodyBase64: "/w==" };
  const broken = { id: "c", type: null };
  expect(await deliver(url, { events: [good] }, "whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA==")).toMatchObject({
    status: 401,
  });
  expect(await deliver(url, { events: [good, binary, broken] })).toStrictEqual({
    status: 200,
    text: '{"batchItemFailures":[{"itemIdentifier":"c"}]}',
  });
  // Nobody processes a seen event again, so a broken copy of it is no failure.
  expect(await deliver(url, { events: [{ id: "a", type: "t" }] })).toStrictEqual({
    status: 200,
    text: '{"batchItemFailures":[]}',
  });
});

test("[V14] the README's receiver outlives a request that breaks off", async () => {
  const url = await startReceiver();
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  await sleep(50);
  socket.destroy();
  await sleep(50);
  expect(await deliver(url, { events: [{ id: "a", type: "t", body: "text" }] })).toMatchObject({ status: 200 });
});

test("[O2] the README's first tenant is a configuration that is taken", () => {
  const json = /-d '(\{\n[\s\S]*?\n {2}\})'/.exec(readme)?.[1] ?? "";
  const origin = { baseUrl: null, token: null, signingSecret: null };
  const context = { allowInsecureDestinations: false, ownHosts: [], origin, nowMs: Date.UTC(2026, 10, 29) };
  expect(parseConfig(JSON.parse(json), context)).toMatchObject({ kind: "config", warnings: [] });
});

test("[O2] the README names every setting that the Worker reads", () => {
  const env = readFileSync(join(projectDir, "src/env.ts"), "utf8");
  const bindings = /interface Bindings \{([\s\S]*?)\n\}/.exec(env)?.[1] ?? "";
  const variables = [...bindings.matchAll(/readonly (\w+)\?: string;/g)].map(([, name]) => name);
  expect(variables).toContain("ADMIN_TOKEN");
  for (const name of variables) expect(readme).toContain(`\`${name}\``);
});

test("[R4] OPERATIONS says of every alert what to do", () => {
  const operations = readFileSync(join(projectDir, "docs/OPERATIONS.md"), "utf8");
  const kinds = new Set<string>();
  for (const file of globSync("src/**/*.ts", { cwd: projectDir })) {
    const text = readFileSync(join(projectDir, file), "utf8");
    for (const [, kind = ""] of text.matchAll(/alerts\.raise\(\s*"([\w-]+)"/g)) kinds.add(kind);
    for (const [, kind = ""] of text.matchAll(/raise\.push\(\{ kind: "([\w-]+)"/g)) kinds.add(kind);
  }
  expect(kinds.size).toBeGreaterThanOrEqual(5);
  for (const kind of kinds) expect(operations).toContain(`\n| \`${kind}\` `);
});

test("[O9] OPERATIONS says of every alert that the rules know what to do", () => {
  const operations = readFileSync(join(projectDir, "docs/OPERATIONS.md"), "utf8");
  for (const kind of [...STANDING_ALERTS, ...PASSING_ALERTS]) expect(operations).toContain(`\n| \`${kind}\` `);
});

test("[O8] OPERATIONS names every metric, and no other", () => {
  const operations = readFileSync(join(projectDir, "docs/OPERATIONS.md"), "utf8");
  const documented = [...operations.matchAll(/^\| `(spillway_\w+)` /gm)].map(([, name]) => name);
  expect(documented).toEqual(metricsOf(new Map(), 0).map((metric) => metric.name));
});

test("[O2] OPERATIONS' alerts are a configuration that is taken", () => {
  const operations = readFileSync(join(projectDir, "docs/OPERATIONS.md"), "utf8");
  const json = /^```json\n(\{\n {2}"alerts"[\s\S]*?)\n```/m.exec(operations)?.[1] ?? "";
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const { alerts } = JSON.parse(json.replace("whsec_…", secret)) as { alerts: unknown };
  const sources = { in: { provider: "generic", secrets: ["0123456789abcdef0123456789abcdef"] } };
  const destinations = { api: { url: "https://api.example.com/in", signingSecrets: [secret] } };
  const origin = { baseUrl: null, token: null, signingSecret: null };
  const context = { allowInsecureDestinations: false, ownHosts: [], origin, nowMs: Date.UTC(2026, 10, 29) };
  expect(parseConfig({ sources, destinations, alerts }, context)).toMatchObject({ kind: "config", warnings: [] });
});

test("every page that README and docs link to is there", () => {
  for (const page of ["README.md", "docs/OPERATIONS.md"]) {
    const text = readFileSync(join(projectDir, page), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\(([^)#:]+)\)/g)) {
      expect(existsSync(join(projectDir, page, "..", target)), `${page} links to ${target}`).toBe(true);
    }
  }
});
