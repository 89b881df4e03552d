import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { LAYOUT } from "../install/layout.ts";

export type Lock = { release(): void };

/**
 * The lock that whoever changes the installation holds: one updater, or an installation. It ends with the process. Node has no
 * flock: the lock that the program takes is one of the open file, and stays with it.
 *
 * @returns null when somebody else has it
 */
export function takeLock(root: string, waitSeconds = 0): Lock | null {
  const folder = join(root, LAYOUT.update);
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, "lock"), "a", 0o600);
  const how = waitSeconds > 0 ? ["--timeout", String(waitSeconds)] : ["--nonblock"];
  const { status, error } = spawnSync("flock", [...how, "--conflict-exit-code", "75", "3"], {
    stdio: ["ignore", "ignore", "ignore", file],
  });
  if (status === 0) return lockOf(file);
  closeSync(file);
  if (status === 75) return null;
  throw new Error(
    `flock does not work here: ${error?.message ?? `status ${status}`}\n    fix: install util-linux`,
  );
}

function lockOf(file: number): Lock {
  let isHeld = true;
  return {
    release: () => {
      // Its number may be another file's by now.
      if (isHeld) closeSync(file);
      isHeld = false;
    },
  };
}
