/** One thing that is wrong with an input: where (`sources.stripe.secrets.0`, "" for the whole) and what to do. */
export interface InputProblem {
  readonly path: string;
  readonly message: string;
}

export const PROBLEM_CONTENT_TYPE = "application/problem+json";

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
  508: "Loop Detected",
};

/**
 * The JSON text of an error answer (RFC 9457). `code` is stable and meant for programs; `detail` and `errors` are
 * meant for people and never contain a secret.
 */
export function problemText(status: number, code: string, detail?: string, errors?: readonly InputProblem[]): string {
  return JSON.stringify({ type: "about:blank", title: TITLES[status] ?? "Error", status, code, detail, errors });
}
