import { joinedBytes } from "../core/joined-bytes.ts";
import { findJsonFault, placeOf } from "./json-fault.ts";
import { Problem } from "./problem.ts";

/** A configuration with 50 sources of 8 secrets each fits well; it also bounds what is sealed and stored. */
const BODY_BYTES_MAX = 262_144;

/** The JSON body of a changing call [O11]. @throws Problem that says what is wrong, and where */
export async function readJson(request: Request): Promise<unknown> {
  const bytes = await readBytes(request);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new Problem(400, "malformed-json", "The body is not UTF-8.");
  }
  if (text.trim() === "") throw new Problem(400, "malformed-json", "The body is empty; send a JSON object.");
  try {
    return JSON.parse(text);
  } catch {
    const fault = findJsonFault(text);
    if (fault === null) throw new Problem(400, "malformed-json", "The body is not JSON.");
    const { line, column } = placeOf(text, fault.offset);
    const where = fault.offset >= text.length ? "it ends too early, at" : "at";
    throw new Problem(
      400,
      "malformed-json",
      `The body is not JSON: ${where} line ${line}, column ${column}: expected ${fault.expected}.`,
    );
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const reader = request.body?.getReader();
  while (reader !== undefined) {
    const step = await reader.read();
    if (step.done) break;
    sizeBytes += step.value.byteLength;
    if (sizeBytes > BODY_BYTES_MAX) {
      await reader.cancel();
      throw new Problem(413, "body-too-large", `The body is larger than ${BODY_BYTES_MAX} bytes.`);
    }
    chunks.push(step.value);
  }
  return joinedBytes(chunks, sizeBytes);
}
