import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Mutant, mutantTitle, mutated } from "./mutant.ts";

/** A copy of the project, as it stands on disk, in which one mutant at a time is tried. */
export class Tree {
  readonly dir = mkdtempSync(join(tmpdir(), "spillway-mutant-"));

  constructor(projectDir: string) {
    const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: projectDir,
      encoding: "utf8",
    });
    for (const file of new Set(listed.split("\0"))) {
      if (file === "" || !existsSync(join(projectDir, file))) continue;
      mkdirSync(dirname(join(this.dir, file)), { recursive: true });
      copyFileSync(join(projectDir, file), join(this.dir, file));
    }
    symlinkSync(join(projectDir, "node_modules"), join(this.dir, "node_modules"));
  }

  /** Applies the mutant for as long as `use` takes. Throws when its text is not there exactly once. */
  async withMutant<T>(mutant: Mutant, use: () => Promise<T>): Promise<T> {
    // Its own copy: the project may be worked on meanwhile.
    const original = readFileSync(join(this.dir, mutant.file), "utf8");
    const source = mutated(original, mutant);
    if (source === null) throw new Error(`its text does not stand exactly once: ${mutantTitle(mutant)}`);
    writeFileSync(join(this.dir, mutant.file), source);
    try {
      return await use();
    } finally {
      writeFileSync(join(this.dir, mutant.file), original);
    }
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
