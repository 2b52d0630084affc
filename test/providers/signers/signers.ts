import { hmacSigners } from "./hmac.ts";
import { keySigners } from "./keys.ts";
import { otherSigners } from "./other.ts";
import type { Signer } from "./signer.ts";

/** Every provider's signer, by the name of its row. */
export const signers: Readonly<Record<string, Signer>> = { ...hmacSigners, ...otherSigners, ...keySigners };
