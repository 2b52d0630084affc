/** What went wrong between the Worker and a tenant's object, read off the error the runtime throws [I13]. */
export type CallFailure =
  /** The object has more to do than it can: calling it again makes it worse. */
  | "overloaded"
  /** The account's own limit: nothing works until it is lifted. */
  | "spending-cap"
  /** The object was moved, updated or restarted; whether the call was carried out is unknown. */
  | "reset"
  /** The call did not arrive, or the connection was lost, by the runtime's own word. */
  | "retryable"
  /** Anything else: an exception of the object's own code. */
  | "exception"
  /** No answer in the time there was. */
  | "timed-out";

const OVERLOAD_TEXT = /overloaded|too many requests queued|too much data.*queued|queued for too long/i;
const SPENDING_TEXT = /spending cap/i;
const RESET_TEXT =
  /code was updated|no longer active|exceeded timeout which caused object to be reset|caused object to be reset|network connection lost|durable object.*(was )?reset|internal error; reference|cannot resolve durable object/i;

/** Reads an error of a call to an object; any value may be thrown, and none makes this throw. */
export function classifyCallFailure(error: unknown): Exclude<CallFailure, "timed-out"> {
  const { overloaded, durableObjectReset, retryable, message } = factsOf(error);
  if (overloaded || OVERLOAD_TEXT.test(message)) return "overloaded";
  if (SPENDING_TEXT.test(message)) return "spending-cap";
  if (durableObjectReset || RESET_TEXT.test(message)) return "reset";
  return retryable ? "retryable" : "exception";
}

/**
 * Whether the call may be made once more, with a fresh stub: storing is idempotent, so what may have been carried out
 * is no obstacle. An overload is never answered with more calls, an exception would only be repeated.
 */
export function isWorthRetrying(failure: CallFailure): boolean {
  switch (failure) {
    case "reset":
    case "retryable":
      return true;
    case "overloaded":
    case "spending-cap":
    case "exception":
    case "timed-out":
      return false;
  }
}

interface ErrorFacts {
  readonly overloaded: boolean;
  readonly durableObjectReset: boolean;
  readonly retryable: boolean;
  readonly message: string;
}

function factsOf(error: unknown): ErrorFacts {
  if (typeof error !== "object" || error === null) {
    return { overloaded: false, durableObjectReset: false, retryable: false, message: String(error) };
  }
  const flags = error as { overloaded?: unknown; durableObjectReset?: unknown; retryable?: unknown; message?: unknown };
  return {
    overloaded: flags.overloaded === true,
    durableObjectReset: flags.durableObjectReset === true,
    retryable: flags.retryable === true,
    message: typeof flags.message === "string" ? flags.message : "",
  };
}
