import { type Arrival, param, type VerifySource } from "./arrival.ts";
import { bytesFromBase64, textFromUtf8 } from "./bytes.ts";
import { type JsonDocument, JsonText, PARSED_BODY_BYTES_MAX } from "./json-body.ts";
import { type ParsedRef, refOf } from "./refs.ts";

const FORM_FIELDS_MAX = 2_000;

/** The parts of a request, each read at most once and only when something asks for it. */
export class RequestParts {
  readonly arrival: Arrival;
  readonly #source: VerifySource;
  #json: JsonDocument | null | undefined;
  #form: URLSearchParams | null | undefined;

  constructor(arrival: Arrival, source: VerifySource) {
    this.arrival = arrival;
    this.#source = source;
  }

  /** The body as JSON, or `null` where it cannot be read as such. */
  get json(): JsonDocument | null {
    if (this.#json === undefined) this.#json = JsonText.fromBytes(this.arrival.body);
    return this.#json;
  }

  /** The body as a form, whatever its content type says; `null` where it is no text or has too many fields. */
  get form(): URLSearchParams | null {
    if (this.#form === undefined) this.#form = readForm(this.arrival.body);
    return this.#form;
  }

  /** What stands at a reference, or `null`. An empty text counts as there. */
  text(ref: string, fields?: Fields, item?: readonly string[]): string | null {
    return this.textOf(refOf(ref), fields, item);
  }

  textOf(ref: ParsedRef, fields?: Fields, item?: readonly string[]): string | null {
    switch (ref.kind) {
      case "header":
        return this.arrival.headers.get(ref.name);
      case "header-json": {
        const bytes = bytesFromBase64(this.arrival.headers.get(ref.name) ?? "");
        return bytes === null ? null : (JsonText.fromBytes(bytes)?.textAt(ref.tokens) ?? null);
      }
      case "json":
        return this.json?.textAt(ref.tokens) ?? null;
      case "item":
        return item === undefined ? null : (this.json?.textAt([...item, ...ref.tokens]) ?? null);
      case "form":
        return this.form?.get(ref.name) ?? null;
      case "form-json": {
        const field = this.form?.get(ref.name) ?? null;
        return field === null ? null : (JsonText.parse(field)?.textAt(ref.tokens) ?? null);
      }
      case "query":
        return this.arrival.url.searchParams.get(ref.name);
      case "param":
        return param(this.#source, ref.name);
      case "field":
        return fields?.get(ref.name) ?? null;
    }
  }
}

/** The entries of a signature header that are not signatures (`t=…`). */
export type Fields = ReadonlyMap<string, string>;

function readForm(body: Uint8Array): URLSearchParams | null {
  if (body.length === 0 || body.length > PARSED_BODY_BYTES_MAX) return null;
  const text = textFromUtf8(body);
  if (text === null) return null;
  const form = new URLSearchParams(text);
  return form.size > FORM_FIELDS_MAX ? null : form;
}
