/** Whether bytes that come piece by piece are one JSON text, by the same rules as `JSON.parse` [V3] [V25]. */

/** A text nested deeper than this is not looked through: it counts as no JSON. */
const DEPTH_MAX = 10_000;

/** What may come next. */
type Expected =
  | "value"
  | "value-or-end"
  | "name-or-end"
  | "name"
  | "colon"
  | "after-value"
  | "string"
  | "escape"
  | "hex"
  | "minus"
  | "zero"
  | "integer"
  | "point"
  | "fraction"
  | "exponent"
  | "exponent-sign"
  | "exponent-digits"
  | "word"
  | "nothing";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const WORDS: ReadonlyMap<number, string> = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), word]));
const ESCAPABLE: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((sign) => sign.charCodeAt(0)));
/** A number may end here. */
const NUMBER_ENDS: ReadonlySet<Expected> = new Set<Expected>(["zero", "integer", "fraction", "exponent-digits"]);

export class JsonCheck {
  #expected: Expected = "value";
  /** The brackets that are open: true for an object. */
  readonly #open: boolean[] = [];
  #isName = false;
  #hexLeft = 0;
  #wordLeft = "";

  /** Takes the next bytes, which are UTF-8; false: what came so far begins no JSON text. */
  push(bytes: Uint8Array): boolean {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] ?? 0;
      if (this.#expected === "string" && byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) continue;
      this.#expected = this.#next(byte);
      if (this.#expected === "nothing") return false;
    }
    return true;
  }

  /** Whether what came is one whole JSON text. */
  end(): boolean {
    const isNumber = NUMBER_ENDS.has(this.#expected);
    return this.#open.length === 0 && (isNumber || this.#expected === "after-value");
  }

  #next(byte: number): Expected {
    switch (this.#expected) {
      case "value":
      case "value-or-end":
        if (isSpace(byte)) return this.#expected;
        if (byte === CLOSE_LIST && this.#expected === "value-or-end") return this.#close(false);
        return this.#value(byte);
      case "name-or-end":
      case "name":
        if (isSpace(byte)) return this.#expected;
        if (byte === CLOSE_OBJECT && this.#expected === "name-or-end") return this.#close(true);
        this.#isName = true;
        return byte === QUOTE ? "string" : "nothing";
      case "colon":
        return isSpace(byte) ? "colon" : byte === COLON ? "value" : "nothing";
      case "after-value":
        return this.#afterValue(byte);
      case "string":
        return this.#inString(byte);
      case "escape":
        if (ESCAPABLE.has(byte)) return "string";
        this.#hexLeft = 4;
        return byte === 0x75 ? "hex" : "nothing";
      case "hex":
        if (!isHex(byte)) return "nothing";
        this.#hexLeft -= 1;
        return this.#hexLeft > 0 ? "hex" : "string";
      case "word":
        if (byte !== this.#wordLeft.charCodeAt(0)) return "nothing";
        this.#wordLeft = this.#wordLeft.slice(1);
        return this.#wordLeft === "" ? "after-value" : "word";
      case "nothing":
        return "nothing";
      default:
        return this.#inNumber(this.#expected, byte);
    }
  }

  #value(byte: number): Expected {
    if (byte === QUOTE) {
      this.#isName = false;
      return "string";
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (this.#open.length >= DEPTH_MAX) return "nothing";
      this.#open.push(byte === OPEN_OBJECT);
      return byte === OPEN_OBJECT ? "name-or-end" : "value-or-end";
    }
    if (byte === 0x2d) return "minus";
    if (byte === 0x30) return "zero";
    if (isDigit(byte)) return "integer";
    const word = WORDS.get(byte);
    if (word === undefined) return "nothing";
    this.#wordLeft = word.slice(1);
    return "word";
  }

  #afterValue(byte: number): Expected {
    if (isSpace(byte)) return "after-value";
    const isObject = this.#open.at(-1);
    if (byte === COMMA && isObject !== undefined) return isObject ? "name" : "value";
    return byte === CLOSE_LIST || byte === CLOSE_OBJECT ? this.#close(byte === CLOSE_OBJECT) : "nothing";
  }

  #close(isObject: boolean): Expected {
    return this.#open.pop() === isObject ? "after-value" : "nothing";
  }

  #inString(byte: number): Expected {
    if (byte === BACKSLASH) return "escape";
    if (byte !== QUOTE) return "nothing";
    return this.#isName ? "colon" : "after-value";
  }

  #inNumber(at: Expected, byte: number): Expected {
    const isE = byte === 0x65 || byte === 0x45;
    if (isDigit(byte)) {
      if (at === "minus") return byte === 0x30 ? "zero" : "integer";
      if (at === "point") return "fraction";
      if (at === "exponent" || at === "exponent-sign") return "exponent-digits";
      return at === "zero" ? "nothing" : at;
    }
    if (byte === 0x2e && (at === "zero" || at === "integer")) return "point";
    if (isE && (at === "zero" || at === "integer" || at === "fraction")) return "exponent";
    if (at === "exponent" && (byte === 0x2b || byte === 0x2d)) return "exponent-sign";
    return NUMBER_ENDS.has(at) ? this.#afterValue(byte) : "nothing";
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
