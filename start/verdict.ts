import { DESTINATION } from "./spillway.ts";
import { type Stage, until } from "./stage.ts";

/**
 * Judges the whole run: every accepted event arrived as exactly the bytes that were sent, nothing that was refused
 * arrived, and the ledger says the same. `fresh`: the tenant had no history, so its totals are this run's.
 */
export async function judge(stage: Stage, fresh: boolean): Promise<boolean> {
  const { journal, screen, spillway } = stage;
  screen.scene("The books", "What was accepted against what arrived, byte by byte, and the ledger of the tenant.");
  await until("the ledger has settled", async () => (await spillway.stats()).destinations[DESTINATION]?.backlog === 0);
  const stats = await spillway.stats();
  const ledger = stats.destinations[DESTINATION];
  const complaints = [...stage.faults, ...journal.complaints()];
  if (ledger === undefined) return false;

  const settled =
    ledger.delivered + ledger.backlog + ledger.dead + ledger.filtered + ledger.purged + ledger.expired + ledger.erased;
  if (ledger.offered !== settled)
    complaints.push(`the ledger does not balance: offered ${ledger.offered}, found ${settled}`);
  if (fresh && stats.accepted !== journal.promisedCount) {
    complaints.push(`the ledger counts ${stats.accepted} accepted events, the senders ${journal.promisedCount}`);
  }
  if (fresh && ledger.delivered !== journal.promisedCount) {
    complaints.push(`the ledger counts ${ledger.delivered} delivered events of ${journal.promisedCount}`);
  }

  if (stats.accepted > journal.promisedCount) screen.plain("   The ledger counts earlier runs, too:\n");
  screen.plain(
    `   accepted ${stats.accepted}, deduplicated ${stats.deduplicated}, rate limited ${stats.rateLimited}\n` +
      `   offered ${ledger.offered} = delivered ${ledger.delivered} + backlog ${ledger.backlog} + dead ${ledger.dead}\n` +
      `   rows written per event: ${(stats.cost.rowsWritten / Math.max(stats.accepted, 1)).toFixed(1)}\n`,
  );
  for (const complaint of complaints) screen.bad(complaint);
  if (complaints.length > 0) return false;
  const repeats = journal.repeatCount === 0 ? "each once" : `${journal.repeatCount} of them more than once`;
  screen.good(
    `${journal.arrivedCount} of ${journal.promisedCount} accepted events arrived, ${repeats}, exactly as they were sent`,
  );
  screen.good("nothing that was refused arrived");
  return true;
}
