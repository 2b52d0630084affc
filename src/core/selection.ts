/** Which events an operator means, by what is known of them without their bytes [X2] [X8]. */
export interface Selection {
  readonly source?: string;
  readonly type?: string;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly reason?: string;
}

/** Whether an event is meant. `type` may end in `*`; `toMs` is exclusive; `reason` only narrows dead letters. */
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

function fitsType(pattern: string, type: string | null): boolean {
  if (type === null) return false;
  return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
