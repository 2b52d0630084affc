import type { AtBacklog } from "./backlog.ts";
import type { Drain } from "./drain.ts";
import type { Intake } from "./intake.ts";
import type { Life } from "./life.ts";
import type { Redrive } from "./redrive.ts";

/** Everything a run measured; lists have one entry per round, in the order of the rounds. */
export interface Results {
  readonly intake: Record<string, { readonly title: string; readonly rounds: Intake[] }>;
  fsyncsPerEvent: number | null;
  readonly life: Life[];
  readonly drain: Record<string, { readonly title: string; readonly rounds: Drain[] }>;
  readonly backlog: Record<number, AtBacklog[]>;
  readonly redrive: Redrive[];
}

export function emptyResults(): Results {
  return { intake: {}, fsyncsPerEvent: null, life: [], drain: {}, backlog: {}, redrive: [] };
}
