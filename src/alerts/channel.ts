/** Ways to tell an operator of an alert [O9]. A further one is a file like these, and a line in `channelsOf`. */
import type { AlertNews } from "../core/alert-text.ts";
import type { UrlPolicy } from "../core/destination-url.ts";
import { type EmailBinding, emailChannel } from "./email.ts";
import { slackChannel } from "./slack.ts";
import { webhookChannel } from "./webhook.ts";

export interface Channel {
  readonly name: "webhook" | "slack" | "email";
  /** Tells; "" when it was taken, else why it was not. Never throws. */
  tell(news: AlertNews, nowMs: number): Promise<string>;
}

/** Where a tenant wants to hear of alerts. */
export interface AlertAddresses {
  readonly webhookUrl: string | null;
  readonly format: "webhook" | "slack";
  readonly signingSecrets: readonly string[];
  readonly email: { readonly from: string; readonly to: string } | null;
}

interface ChannelParts {
  readonly policy: UrlPolicy;
  /** null: no mail can be sent from here. */
  readonly mail: EmailBinding | null;
}

export function channelsOf(addresses: AlertAddresses, parts: ChannelParts): Channel[] {
  const { webhookUrl, format, signingSecrets, email } = addresses;
  const channels: Channel[] = [];
  if (webhookUrl !== null && format === "webhook")
    channels.push(webhookChannel(webhookUrl, signingSecrets, parts.policy));
  if (webhookUrl !== null && format === "slack") channels.push(slackChannel(webhookUrl, parts.policy));
  if (email !== null) channels.push(emailChannel(email, parts.mail));
  return channels;
}
