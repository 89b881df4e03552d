import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** A process that began before the last build may still import the parts of an earlier one. */
const OLD_PARTS_STAY_MS = 24 * 3_600_000;

/**
 * Removes the parts of earlier builds that are older than a day from the directory of a bundle.
 *
 * @param current the names of the last build's files
 */
export async function removeOldParts(directory: string, current: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!/-[0-9A-Z]{8}\.js(\.map)?$/.test(name) || current.has(name)) continue;
    const file = join(directory, name);
    if (Date.now() - (await stat(file)).mtimeMs > OLD_PARTS_STAY_MS) await rm(file, { force: true });
  }
}
