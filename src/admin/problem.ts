import { type InputProblem, PROBLEM_CONTENT_TYPE, problemText } from "../core/problem.ts";

/** An error answer (RFC 9457) of the admin API; thrown or returned, it ends the call. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: string;
  readonly errors: readonly InputProblem[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    detail: string,
    more: { readonly errors?: readonly InputProblem[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
  }

  toResponse(): Response {
    return new Response(problemText(this.status, this.code, this.message, this.errors), {
      status: this.status,
      headers: { "content-type": PROBLEM_CONTENT_TYPE, "cache-control": "no-store", ...this.headers },
    });
  }
}

export function invalidInput(what: string, errors: readonly InputProblem[]): Problem {
  const count = errors.length === 1 ? "one problem" : `${errors.length} problems`;
  return new Problem(400, `invalid-${what}`, `The ${what} has ${count}; nothing was changed.`, { errors });
}

export function noSuchTenant(): Problem {
  return new Problem(404, "no-such-tenant", "There is no tenant of this name.");
}
