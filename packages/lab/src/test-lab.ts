/** Labs for the lab's own tests: each in a directory of its own, stopped and removed when the test file ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type Lab, type LabOptions, startLab } from "./lab.ts";

const labs: Lab[] = [];
const directories: string[] = [];

afterAll(async () => {
  await Promise.all(labs.map((lab) => lab.stop()));
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** An empty directory that is deleted after the test file. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "kule-lab-"));
  directories.push(directory);
  return directory;
}

/** A lab on a free port; time scale 0 by default. */
export async function newLab(options: Partial<LabOptions> = {}): Promise<Lab> {
  const lab = await startLab({ dataDir: newDirectory(), ...options });
  labs.push(lab);
  return lab;
}
