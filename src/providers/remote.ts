/**
 * The one place of this folder that calls out. Only https, only addresses that the table allows, no redirects, a
 * deadline, a bounded answer.
 */

const DEADLINE_MS = 2_500;
const ANSWER_BYTES_MAX = 65_536;

/** Fetches a confirmation address; true where it answered 2xx. */
export async function confirmSubscription(url: string): Promise<boolean> {
  return (await fetchText(url, {})) !== null;
}

/** The text of a 2xx answer, or `null` for anything else. */
export async function fetchText(url: string, init: RequestInit): Promise<string | null> {
  if (!url.startsWith("https://")) return null;
  try {
    const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(DEADLINE_MS) });
    if (!response.ok) {
      await response.body?.cancel();
      return null;
    }
    return await boundedText(response);
  } catch {
    return null;
  }
}

async function boundedText(response: Response): Promise<string | null> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    sizeBytes += value.length;
    if (sizeBytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
