import { CONFIGURATION_MUTANTS } from "./list/configuration.ts";
import { DELIVERY_MUTANTS } from "./list/delivery.ts";
import { INGRESS_MUTANTS } from "./list/ingress.ts";
import { PROVIDER_MUTANTS } from "./list/providers.ts";
import { SENDING_MUTANTS } from "./list/sending.ts";
import { STORING_MUTANTS } from "./list/storing.ts";
import type { Mutant } from "./mutant.ts";

/** All mutants; a new rule adds one to the list of its part of the product. */
export const MUTANTS: readonly Mutant[] = [
  ...INGRESS_MUTANTS,
  ...PROVIDER_MUTANTS,
  ...STORING_MUTANTS,
  ...SENDING_MUTANTS,
  ...DELIVERY_MUTANTS,
  ...CONFIGURATION_MUTANTS,
];
