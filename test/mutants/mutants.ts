import { DELIVERY_MUTANTS } from "./list/delivery.ts";
import { SENDING_MUTANTS } from "./list/sending.ts";
import type { Mutant } from "./mutant.ts";

/** All mutants; a new rule adds one to the list of its part of the product. */
export const MUTANTS: readonly Mutant[] = [...SENDING_MUTANTS, ...DELIVERY_MUTANTS];
