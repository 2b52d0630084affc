/** Faults that a test plants in a tenant's object, behind its back. */
import type { Tenant } from "./tenant.ts";

/** Makes the storing of these events fail, until `mend`; the tenant has stored something before. */
export async function failToStore(tenant: Tenant, ...eventIds: readonly string[]): Promise<void> {
  const [open] = await tenant.sql<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'body_[0-9]*' ORDER BY CAST(substr(name, 6) AS INTEGER) DESC LIMIT 1",
  );
  const ids = eventIds.map((id) => `'in:${id}'`).join(", ");
  await tenant.sql(
    `CREATE TRIGGER trouble BEFORE INSERT ON ${open?.name ?? ""} WHEN NEW.event_id IN (${ids}) BEGIN SELECT RAISE(ABORT, 'no room on the disk'); END`,
  );
}

export async function mend(tenant: Tenant): Promise<void> {
  await tenant.sql("DROP TRIGGER trouble");
}
