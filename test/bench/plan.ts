/** How much a run measures. Counts are events. */
export interface Plan {
  readonly rounds: number;
  readonly bodySizeBytes: number;
  readonly connections: number;
  readonly tenantsMany: number;
  readonly warmupEvents: number;
  readonly bareEvents: number;
  readonly floorEvents: number;
  readonly intakeEvents: number;
  readonly fsyncEvents: number;
  readonly lifeEvents: number;
  readonly lifePacedEvents: number;
  readonly drainEvents: number;
  readonly redriveEvents: number;
  /** Backlogs to measure at, ascending; the first is what the others are compared with. */
  readonly backlogs: readonly number[];
  readonly backlogIntakeEvents: number;
  readonly backlogLoneEvents: number;
  readonly backlogBatches: number;
}

export const FULL_PLAN: Plan = {
  rounds: 3,
  bodySizeBytes: 1_024,
  connections: 50,
  tenantsMany: 50,
  warmupEvents: 12_000,
  bareEvents: 40_000,
  floorEvents: 20_000,
  intakeEvents: 30_000,
  fsyncEvents: 3_000,
  lifeEvents: 20_000,
  lifePacedEvents: 1_000,
  drainEvents: 100_000,
  redriveEvents: 50_000,
  backlogs: [1_000, 100_000, 1_000_000],
  backlogIntakeEvents: 10_000,
  backlogLoneEvents: 1_000,
  backlogBatches: 200,
};

/** About two minutes: to see that everything runs, not to quote figures from. */
export const QUICK_PLAN: Plan = {
  ...FULL_PLAN,
  rounds: 1,
  warmupEvents: 2_000,
  bareEvents: 15_000,
  floorEvents: 3_000,
  intakeEvents: 6_000,
  fsyncEvents: 1_000,
  lifeEvents: 5_000,
  lifePacedEvents: 200,
  drainEvents: 20_000,
  redriveEvents: 10_000,
  backlogs: [1_000, 20_000],
  backlogIntakeEvents: 4_000,
  backlogLoneEvents: 300,
  backlogBatches: 50,
};
