import type { Oracle } from "../oracle.ts";
import { messagingOracles } from "./messaging.ts";
import { paymentOracles } from "./payments.ts";
import { platformOracles } from "./platforms.ts";
import { publicKeyOracles } from "./public-key.ts";
import { standardOracles } from "./standard.ts";

export const oracles: readonly Oracle[] = [
  ...standardOracles,
  ...paymentOracles,
  ...platformOracles,
  ...messagingOracles,
  ...publicKeyOracles,
];
