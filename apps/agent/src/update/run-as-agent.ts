// Runs a version of the agent as the agent's user, with the service's settings: the updater itself, which is root, opens no
// connection and reads no region file.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { environmentOf } from "../install/environment-file.ts";
import { LAYOUT, USER } from "../install/layout.ts";
import { textOf } from "../install/plan-install.ts";

export type Ran = {
  /** Null when it was ended by a signal, or could not be started. */
  readonly status: number | null;
  readonly output: string;
  /** Why there is no status. */
  readonly trouble: string | null;
};

const OUTPUT_BYTES = 64 * 1024;

export function runAsAgent(
  root: string,
  binary: string,
  words: readonly string[],
  timeoutMs: number,
  show = false,
): Ran {
  const user = root === "/" && process.getuid?.() === 0 ? userOf(USER) : null;
  const { status, signal, error, stdout, stderr } = spawnSync(binary, words, {
    cwd: "/",
    env: {
      PATH: process.env.PATH,
      NODE_ENV: "production",
      KULE_AGENT_STATE: join(root, LAYOUT.state),
      ...environmentOf(textOf(join(root, LAYOUT.environment)) ?? ""),
    },
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    encoding: "utf8",
    stdio: show ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: OUTPUT_BYTES,
  });
  const code = error !== undefined && "code" in error ? String(error.code) : "";
  const trouble =
    code === "ETIMEDOUT"
      ? `it did not end within ${Math.round(timeoutMs / 1000)} s`
      : error !== undefined
        ? `it cannot be run: ${code || error.message}`
        : signal !== null
          ? `it was ended by ${signal}`
          : null;
  return { status: trouble === null ? status : null, output: `${stdout ?? ""}${stderr ?? ""}`, trouble };
}

/** @throws Error when the machine has no such user */
function userOf(name: string): { readonly uid: number; readonly gid: number } {
  for (const line of readFileSync("/etc/passwd", "utf8").split("\n")) {
    const [user, , uid, gid] = line.split(":");
    if (user === name) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(`the machine has no user ${name}\n    fix: kule-agent install`);
}
