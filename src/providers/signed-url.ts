import type { Arrival, VerifySource } from "./arrival.ts";

/**
 * The texts that the sender may have signed as the URL, likeliest first. The registered address decides, never what
 * a proxy made of the request; where it has no query of its own, the query of the request follows it. Without a
 * registered address it is the URL of the request.
 */
export function signedUrls(source: VerifySource, arrival: Arrival, forms: "with-ports" | undefined): string[] {
  const search = arrival.url.search;
  const urls: string[] = [];
  if (source.publicUrl === null) urls.push(withoutHash(arrival.url.href));
  else {
    const registered = withoutHash(source.publicUrl);
    const query = registered.indexOf("?");
    if (query < 0) urls.push(registered + search);
    else {
      urls.push(registered);
      if (search !== "") urls.push(registered.slice(0, query) + search);
    }
  }
  if (forms === "with-ports") {
    for (const url of [...urls]) urls.push(...portForms(url));
    // A runtime shows an apostrophe in a query as %27; the sender may have signed either.
    for (const url of [...urls]) if (url.includes("%27")) urls.push(url.replaceAll("%27", "'"));
  }
  return [...new Set(urls)];
}

function withoutHash(url: string): string {
  const hash = url.indexOf("#");
  return hash < 0 ? url : url.slice(0, hash);
}

/** The same URL without its port, and with the port its scheme implies. */
function portForms(url: string): string[] {
  const match = /^(https?):\/\/([^/?#]*)(.*)$/is.exec(url);
  if (match === null) return [];
  const [, scheme = "", authority = "", rest = ""] = match;
  const host = authority.replace(/:\d+$/, "");
  const standardPort = scheme.toLowerCase() === "http" ? "80" : "443";
  return [`${scheme}://${host}${rest}`, ...(host === authority ? [`${scheme}://${host}:${standardPort}${rest}`] : [])];
}
