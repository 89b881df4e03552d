import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresError } from "./errors.ts";
import { identifyProcess, isStillRunning, parseProcessIdentity } from "./process-identity.ts";

/**
 * Records in `dataDir` which process runs Postgres there, so that a second start is refused while the first
 * runs, and the leftovers of a dead one are recognised. Postgres' own lock file decides.
 *
 * @returns a function that releases the lock.
 * @throws PostgresError `in_use`.
 */
export function takeLauncherLock(dataDir: string): () => void {
  const file = join(dataDir, "launcher.json");
  const holder = readHolder(file);
  if (holder !== undefined && isStillRunning(holder)) {
    throw new PostgresError("in_use", `Postgres in ${dataDir} is already run by process ${holder.pid}.`);
  }
  rmSync(file, { force: true });
  const content = JSON.stringify(identifyProcess(process.pid));
  try {
    writeFileSync(file, content, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    throw new PostgresError("in_use", `Postgres in ${dataDir} is being started by another process.`, {
      cause,
    });
  }
  return () => rmSync(file, { force: true });
}

function readHolder(file: string) {
  try {
    return parseProcessIdentity(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
