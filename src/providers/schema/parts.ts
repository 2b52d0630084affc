import { z } from "zod";
import { parseRef } from "../refs.ts";
import { parseTemplate } from "../template.ts";

/** The words of a row, checked one by one. */

export const ref = z
  .string()
  .max(300)
  .refine((text) => parseRef(text) !== null && !text.endsWith("?"), {
    error: "must be a reference such as header:x-id (in lower case), json:/data/id, form:id, query:id or param:id",
  });

/** A part of an id or type, which may be missing where it ends in `?`. */
export const optionalRef = z
  .string()
  .max(300)
  .refine((text) => parseRef(text) !== null, { error: "must be a reference such as json:/data/id or header:x-id?" });

export const headerName = z
  .string()
  .regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { error: "must be the name of a header, in lower case" });

export const template = z
  .string()
  .min(1)
  .max(2_000)
  .superRefine((text, context) => {
    const parsed = parseTemplate(text);
    if ("unknownPart" in parsed) {
      context.addIssue({
        code: "custom",
        message: `has an unknown part {${parsed.unknownPart.slice(0, 60)}}; known are {body}, {time}, {url}, {header:x-id} and others`,
      });
    }
  });

/** The inside of a character class that is matched against the whole of a challenge. */
export const alphabet = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[^\]\\^]+$/, { error: "must be the inside of a character class, such as A-Za-z0-9_-" })
  .refine((text) => compiles(`^[${text}]+$`), { error: "is not a usable character class" });

export const pattern = z
  .string()
  .min(1)
  .max(300)
  .refine((text) => compiles(`^(?:${text})$`), { error: "is not a usable regular expression" });

export const pointer = z.string().regex(/^\/.{1,200}$/s, { error: "must be a JSON pointer such as /items" });

export const hash = z.enum(["SHA-1", "SHA-256", "SHA-384", "SHA-512"]);
export const keyForm = z.enum(["utf8", "base64", "hex", "whsec", "whsec-or-utf8", "sha1"]);
export const encoding = z.enum(["hex", "base64", "base64url", "base64-of-hex"]);

export const plainText = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    .refine((text) => text.trim() === text, { error: "must not begin or end with white space" });

function compiles(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
