/** `npm run docs`: writes docs/PROVIDERS.md from the table and the vectors. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { countRows, providersText } from "./providers-doc/text.ts";

writeFileSync(join(import.meta.dirname, "../docs/PROVIDERS.md"), providersText());
console.log(countRows());
