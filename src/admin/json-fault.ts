/** Where a text stops being JSON, for a person who has to mend it. Offsets count UTF-16 units from 0. */
interface JsonFault {
  readonly offset: number;
  readonly expected: string;
}

const WHITE_SPACE = /[ \t\r\n]*/y;
const SCALAR =
  /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * The first place where `text` is not JSON, or null where it is. The runtime's own message often names no place, and
 * may quote what is there, which in a configuration may be a secret.
 */
export function findJsonFault(text: string): JsonFault | null {
  let at = 0;
  /** What is open, outermost first: "{" or "[". */
  const open: string[] = [];
  let wanted: "value" | "value-or-end" | "name" | "name-or-end" | "separator" = "value";

  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return false;
    at += match[0].length;
    return true;
  };
  const close = (): void => {
    at += 1;
    open.pop();
    wanted = "separator";
  };

  for (;;) {
    skip(WHITE_SPACE);
    const character = text.charAt(at);
    const inObject = open.at(-1) === "{";
    if (wanted === "separator") {
      if (open.length === 0) return at === text.length ? null : { offset: at, expected: "nothing more" };
      if (character === ",") {
        at += 1;
        wanted = inObject ? "name" : "value";
      } else if (character === (inObject ? "}" : "]")) close();
      else return { offset: at, expected: inObject ? "a comma or }" : "a comma or ]" };
    } else if (wanted === "name" || wanted === "name-or-end") {
      if (wanted === "name-or-end" && character === "}") close();
      else {
        if (character !== '"' || !skip(SCALAR)) return { offset: at, expected: "a name in double quotes" };
        skip(WHITE_SPACE);
        if (text.charAt(at) !== ":") return { offset: at, expected: "a colon" };
        at += 1;
        wanted = "value";
      }
    } else if (wanted === "value-or-end" && character === "]") close();
    else if (character === "{" || character === "[") {
      at += 1;
      open.push(character);
      wanted = character === "{" ? "name-or-end" : "value-or-end";
    } else if (skip(SCALAR)) wanted = "separator";
    else return { offset: at, expected: "a value" };
  }
}

/** Line and column of an offset, both from 1, as editors count them. */
export function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
