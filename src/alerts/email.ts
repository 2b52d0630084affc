import { alertLines, alertTitle, plain } from "../core/alert-text.ts";
import type { Channel } from "./channel.ts";

/** The part of a `send_email` binding that this needs. */
export interface EmailBinding {
  send(message: {
    readonly from: string;
    readonly to: string;
    readonly subject: string;
    readonly text: string;
  }): Promise<unknown>;
}

/** Plain text by the binding ALERT_EMAIL; `from` must be an address of a domain that the account may send for. */
export function emailChannel(
  { from, to }: { readonly from: string; readonly to: string },
  binding: EmailBinding | null,
): Channel {
  return {
    name: "email",
    tell: async (news) => {
      if (binding === null) return "ALERT_EMAIL is not bound: add a send_email binding of this name";
      const title = plain(alertTitle(news));
      try {
        await binding.send({ from, to, subject: `[Spillway] ${title}`, text: [title, ...alertLines(news)].join("\n") });
        return "";
      } catch (error) {
        return error instanceof Error ? plain(error.message) : "not sent";
      }
    },
  };
}
