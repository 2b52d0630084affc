import colors from "picocolors";
import type { OriginReport } from "./origin.ts";
import type { Answer } from "./spillway.ts";
import type { Webhook } from "./webhooks.ts";

/**
 * The terminal. Every line stands by itself and nothing is drawn over, so it reads the same in a file; colours appear
 * only where there is a terminal that has them.
 */
export class Screen {
  readonly #startedMs = performance.now();
  #sceneCount = 0;

  title(text: string, below: string): void {
    print(`\n${colors.bold(text)}\n${colors.dim(below)}`);
  }

  scene(title: string, explanation: string): void {
    this.#sceneCount += 1;
    print(`\n${colors.bold(`${this.#sceneCount}. ${title}`)}\n${colors.dim(wrapped(explanation))}\n`);
  }

  sent(webhook: Webhook, answer: Answer): void {
    const good = answer.status < 300;
    const code = good ? colors.green(answer.status) : colors.yellow(answer.status);
    const word = answer.word ?? (answer.text === "" ? "(no body: that is how this provider wants it)" : answer.text);
    this.#row(`${webhook.source.padEnd(9)}${webhook.type.padEnd(26)}`, "->", `${code} ${word}`);
  }

  summed(source: string, what: string, answer: string): void {
    this.#row(`${source.padEnd(9)}${what.padEnd(26)}`, "->", answer);
  }

  origin(report: OriginReport): void {
    const size = report.arrivals.length === 1 ? "1 event" : `batch of ${report.arrivals.length}`;
    const text = {
      processed: `${colors.green("200")} ${size}, signature good${named(report)}`,
      crashed: `${colors.red("500")} ${size}, the application crashed`,
      "bad-signature": `${colors.red("401")} the signature does not fit`,
    }[report.what];
    this.#row("", "=>", `${colors.cyan("origin")} ${text}`);
  }

  note(text: string): void {
    this.#row("", "  ", text);
  }

  good(text: string): void {
    print(`   ${colors.green("ok")}    ${text}`);
  }

  bad(text: string): void {
    print(`   ${colors.red("WRONG")} ${text}`);
  }

  plain(text: string): void {
    print(text);
  }

  #row(left: string, arrow: string, right: string): void {
    const seconds = ((performance.now() - this.#startedMs) / 1_000).toFixed(1).padStart(5);
    print(`   ${colors.dim(`${seconds} s`)}  ${left.padEnd(36)}${colors.dim(arrow)}  ${right}`);
  }
}

/** A single event is worth its name. */
function named(report: OriginReport): string {
  const [first, second] = report.arrivals;
  return first === undefined || second !== undefined ? "" : colors.dim(` (${first.id})`);
}

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = "  ";
  for (const word of text.split(" ")) {
    if (line.length + word.length > 96) {
      lines.push(line);
      line = "  ";
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
