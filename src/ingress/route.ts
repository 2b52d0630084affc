import { isId } from "../tenants/ids.ts";

/** Which tenant, and which of its sources where the sender names one, a webhook is for [I1]. */
export interface WebhookRoute {
  readonly tenant: string;
  readonly source: string | null;
}

const START = "/webhook/";

/** Where the path of an absolute URL begins: the first slash after `https://host`. */
function pathStart(url: string): number {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start < 0 ? url.length : start;
}

/** Whether a request is a webhook at all, by its path as it stands in the URL. */
export function isWebhookUrl(url: string): boolean {
  return url.startsWith(START, pathStart(url));
}

/**
 * Reads `/webhook/:tenant` and `/webhook/:tenant/:source`, one slash at the end tolerated; null for anything else.
 * Ids are taken as they stand in the path: what is not an id undecoded is not one at all.
 */
export function parseRoute(url: string): WebhookRoute | null {
  const from = pathStart(url);
  if (!url.startsWith(START, from)) return null;
  const query = url.indexOf("?", from);
  let end = query < 0 ? url.length : query;
  if (url.charCodeAt(end - 1) === SLASH) end -= 1;
  const tenantFrom = from + START.length;
  if (tenantFrom >= end) return null;
  const slash = url.indexOf("/", tenantFrom);
  if (slash < 0 || slash >= end) {
    const tenant = url.slice(tenantFrom, end);
    return isId(tenant) ? { tenant, source: null } : null;
  }
  const tenant = url.slice(tenantFrom, slash);
  const source = url.slice(slash + 1, end);
  return isId(tenant) && isId(source) ? { tenant, source } : null;
}

const SLASH = 47;
