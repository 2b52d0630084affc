import { type AlertNews, alertLines, alertTitle, plain } from "../core/alert-text.ts";
import type { UrlPolicy } from "../core/destination-url.ts";
import { sha256Hex, standardSignature } from "../sinks/signing.ts";
import type { Channel } from "./channel.ts";
import { postAlert } from "./post.ts";

/** JSON, signed as Standard Webhooks says with the tenant's alert signing secrets; unsigned where it has none. */
export function webhookChannel(url: string, secrets: readonly string[], policy: UrlPolicy): Channel {
  return {
    name: "webhook",
    tell: async (news, nowMs) => {
      const body = JSON.stringify(payload(news, nowMs));
      const id = await messageId(news);
      const timestamp = Math.floor(nowMs / 1_000);
      const headers: Record<string, string> = { "webhook-id": id, "webhook-timestamp": String(timestamp) };
      try {
        if (secrets.length > 0) {
          headers["webhook-signature"] = await standardSignature(
            secrets,
            id,
            timestamp,
            new TextEncoder().encode(body),
          );
        }
      } catch {
        return "the alert signing secret can't be used";
      }
      return postAlert(url, policy, body, headers);
    },
  };
}

/** The same for each try of a message, so that a receiver can tell a repeat. */
async function messageId(news: AlertNews): Promise<string> {
  const { tenant, shard, kind, destination, subject, what, raisedAtMs, level } = news;
  const text = JSON.stringify([tenant, shard, kind, destination, subject, what, raisedAtMs, level]);
  return `alert_${(await sha256Hex(text)).slice(0, 32)}`;
}

function payload(news: AlertNews, nowMs: number) {
  const { tenant, destination, kind, subject, detail, raisedAtMs, clearedAtMs, waitingEvents, link, what, shard } =
    news;
  return {
    type: `alert.${what}`,
    timestamp: new Date(nowMs).toISOString(),
    data: {
      tenant,
      destination: destination === "" ? null : destination,
      object: shard,
      kind,
      subject: subject === "" ? null : plain(subject),
      title: alertTitle(news),
      detail: plain(detail),
      text: [alertTitle(news), ...alertLines(news)].join("\n"),
      since: new Date(raisedAtMs).toISOString(),
      until: clearedAtMs === null ? null : new Date(clearedAtMs).toISOString(),
      waitingEvents,
      link,
    },
  };
}
