/** What is allowed in a configuration and still worth a word to the operator [O2]. */
import { sourceRow } from "../providers/catalogue.ts";
import { keyBytes } from "../providers/key-bytes.ts";
import { checkSecret } from "../providers/secret.ts";
import type { SourceConfig, TenantConfig } from "./config.ts";
import type { ConfigContext } from "./context.ts";
import { defaultDestinationOf } from "./default-destination.ts";

const SECRET_SIZE_MIN_BYTES = 16;

export function configWarnings(config: TenantConfig, context: ConfigContext): string[] {
  const warnings: string[] = [];
  if (!config.active) {
    warnings.push(
      "active: this tenant refuses every webhook with 404, which makes some providers remove it for good. To stop only the delivery, pause the destinations.",
    );
  }
  warnings.push(...alertWarnings(config));
  for (const [id, source] of Object.entries(config.sources)) warnings.push(...sourceWarnings(id, source, config));
  for (const [id, configured] of Object.entries(config.destinations)) {
    const destination = defaultDestinationOf(configured, context.origin);
    const at = `destinations.${id}`;
    if (destination.kind === "http" && destination.signingSecrets.length === 0) {
      warnings.push(
        `${at}.signingSecrets: requests are not signed, so the receiver can't tell them from others'. Add a whsec_… secret.`,
      );
    }
    destination.signingSecrets.forEach((secret, index) => {
      const bytes = keyBytes("whsec", secret);
      if (bytes.ok && bytes.value.length < SECRET_SIZE_MIN_BYTES) {
        warnings.push(`${at}.signingSecrets.${index}: is under ${SECRET_SIZE_MIN_BYTES} bytes and can be guessed.`);
      }
    });
    if (destination.url?.startsWith("http:")) warnings.push(`${at}.url: is not https; only for local development.`);
  }
  return warnings;
}

function alertWarnings({ alerts }: TenantConfig): string[] {
  if (alerts === null) return [];
  const { webhookUrl, format, signingSecrets, email } = alerts;
  if (webhookUrl === null && email === null) {
    return ["alerts: without webhookUrl or email nobody is told of alerts; only stats show them."];
  }
  return webhookUrl !== null && format === "webhook" && signingSecrets.length === 0
    ? [
        "alerts.signingSecrets: alerts are not signed, so whoever gets them can't tell them from others'. Add a whsec_… secret.",
      ]
    : [];
}

function sourceWarnings(id: string, source: SourceConfig, config: TenantConfig): string[] {
  const at = `sources.${id}`;
  const warnings: string[] = [];
  const row = sourceRow(source.provider, source.custom);
  source.secrets.forEach((secret, index) => {
    const checked = row === undefined ? null : checkSecret(row, secret.value);
    if (checked?.ok) warnings.push(...checked.value.warnings.map((warning) => `${at}.secrets.${index}: ${warning}.`));
  });
  if (source.secrets.length > 0 && source.secrets.every((secret) => secret.retiresAtMs !== null)) {
    warnings.push(`${at}.secrets: every secret retires; after the last one the source answers 503.`);
  }
  if (row !== undefined && config.dedupeWindowSeconds < row.retry.forSeconds) {
    warnings.push(
      `dedupeWindowSeconds: is shorter than the ${row.retry.forSeconds} s for which ${row.title} goes on trying; a late repeat becomes a second event.`,
    );
  }
  const kept = source.forwardHeaders.filter((name) => SENSITIVE_HEADERS.has(name));
  if (kept.length > 0) {
    warnings.push(
      `${at}.forwardHeaders: ${kept.join(", ")} will be stored with each event and sent to every destination.`,
    );
  }
  return warnings;
}

const SENSITIVE_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "proxy-authorization",
  "x-forwarded-for",
  "cf-connecting-ip",
]);
