import { parseDestinationUrl, type UrlPolicy } from "../core/destination-url.ts";
import { VERSION } from "../sinks/version.ts";

const LIMIT_MS = 10_000;

/** One POST of an alert, under the rules of destinations [V8] [V17]; "" for a 2xx, else what went wrong. Never throws. */
export async function postAlert(
  url: string,
  policy: UrlPolicy,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const parsed = parseDestinationUrl(url, policy);
  if (!parsed.ok) return parsed.detail ?? parsed.reason;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), LIMIT_MS);
  try {
    const response = await fetch(parsed.value.href, {
      method: "POST",
      redirect: "manual",
      signal: controller.signal,
      headers: {
        "content-type": "application/json",
        "user-agent": `Spillway/${VERSION}`,
        "spillway-hops": "1",
        ...headers,
      },
      body,
    });
    await response.body?.cancel();
    return response.ok ? "" : `answered ${response.status}`;
  } catch {
    return controller.signal.aborted ? `no answer within ${LIMIT_MS / 1_000} s` : "no connection";
  } finally {
    clearTimeout(timer);
  }
}
