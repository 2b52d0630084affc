import { alertLines, alertTitle } from "../core/alert-text.ts";
import type { UrlPolicy } from "../core/destination-url.ts";
import type { Channel } from "./channel.ts";
import { postAlert } from "./post.ts";

/** An incoming webhook of Slack, or of whatever takes its format; its address is its secret, so nothing is signed. */
export function slackChannel(url: string, policy: UrlPolicy): Channel {
  return {
    name: "slack",
    tell: (news) => {
      const mark = news.what === "raised" ? ":rotating_light:" : ":white_check_mark:";
      const [title = "", ...lines] = [alertTitle(news), ...alertLines(news)].map(escapeSlack);
      return postAlert(url, policy, JSON.stringify({ text: [`${mark} *${title}*`, ...lines].join("\n") }));
    },
  };
}

/** The three characters that mean something to Slack: with them go mentions and links of others' making [O11]. */
function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
