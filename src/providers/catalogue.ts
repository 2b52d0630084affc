import { billingRows } from "./catalogue/billing.ts";
import { bookRows } from "./catalogue/books.ts";
import { codeRows } from "./catalogue/code.ts";
import { commerceRows } from "./catalogue/commerce.ts";
import { contentRows } from "./catalogue/content.ts";
import { documentRows } from "./catalogue/documents.ts";
import { fieldSignedRows } from "./catalogue/field-signed.ts";
import { financeRows } from "./catalogue/finance.ts";
import { genericRows } from "./catalogue/generic.ts";
import { mailRows } from "./catalogue/mail.ts";
import { messagingRows } from "./catalogue/messaging.ts";
import { operationsRows } from "./catalogue/operations.ts";
import { paymentRows } from "./catalogue/payments.ts";
import { platformRows } from "./catalogue/platforms.ts";
import { publicKeyRows } from "./catalogue/public-key.ts";
import { rsaRows } from "./catalogue/rsa.ts";
import { socialRows } from "./catalogue/social.ts";
import { standardRows } from "./catalogue/standard.ts";
import { workRows } from "./catalogue/work.ts";
import type { ProviderRow } from "./row.ts";

/** The table [P1]: one row for each provider. */
const table: readonly ProviderRow[] = [
  ...genericRows,
  ...standardRows,
  ...paymentRows,
  ...billingRows,
  ...codeRows,
  ...commerceRows,
  ...contentRows,
  ...messagingRows,
  ...mailRows,
  ...workRows,
  ...documentRows,
  ...financeRows,
  ...bookRows,
  ...operationsRows,
  ...socialRows,
  ...platformRows,
  ...publicKeyRows,
  ...rsaRows,
  ...fieldSignedRows,
];

const rows = new Map(table.map((row) => [row.name, row]));

/** The row of a provider by the name an operator writes; never an inherited property. */
export function providerRow(name: string): ProviderRow | undefined {
  return rows.get(name);
}

/** All names, in the order of the table. */
export function providerNames(): string[] {
  return [...rows.keys()];
}

/**
 * The row of a configured source. A row of the operator's own was checked by the table's schema before it was stored,
 * and is taken as it stands.
 */
export function sourceRow(provider: string, custom: unknown): ProviderRow | undefined {
  if (provider !== "custom") return rows.get(provider);
  return typeof custom === "object" && custom !== null ? (custom as ProviderRow) : undefined;
}
