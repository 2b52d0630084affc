import { fitsType } from "./type-pattern.ts";

/** Which events an operator means, by what is known of them without their bytes [X2] [X8]; what is absent does not narrow. */
export interface Selection {
  readonly source?: string;
  readonly type?: string;
  /** Of receipt, in ms since 1970; `toMs` itself is not meant. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Why it died; narrows dead letters only. */
  readonly reason?: string;
}

/** Whether an event is meant; `reason` is what it died of, if it did. */
export function isSelected(
  selection: Selection,
  event: { readonly source: string; readonly type: string | null; readonly receivedAtMs: number },
  reason?: string,
): boolean {
  if (selection.source !== undefined && event.source !== selection.source) return false;
  if (selection.type !== undefined && !fitsType(selection.type, event.type)) return false;
  if (selection.fromMs !== undefined && event.receivedAtMs < selection.fromMs) return false;
  if (selection.toMs !== undefined && event.receivedAtMs >= selection.toMs) return false;
  return selection.reason === undefined || selection.reason === reason;
}
