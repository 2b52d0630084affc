import { firstRows } from "./catalogue/first.ts";
import { genericRows } from "./catalogue/generic.ts";
import type { ProviderRow } from "./row.ts";

const rows = new Map<string, ProviderRow>();
for (const row of [...genericRows, ...firstRows]) {
  if (rows.has(row.name)) throw new Error(`two rows are called ${row.name}`);
  rows.set(row.name, row);
}

/** The row of a provider by the name an operator writes; never an inherited property. */
export function providerRow(name: string): ProviderRow | undefined {
  return rows.get(name);
}

/** All names, in the order of the table. */
export function providerNames(): string[] {
  return [...rows.keys()];
}
