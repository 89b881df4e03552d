import { spawn } from "node:child_process";
import { delimiter } from "node:path";

export interface CommandResult {
  succeeded: boolean;
  /** Standard output and standard error, interleaved as they were written, without colours. */
  output: string;
}

/**
 * Runs a program to its end, with `firstInPath` before the caller's PATH. A program that cannot be started counts as failed, with the reason as output.
 */
export function runCommand(
  program: string,
  args: string[],
  cwd: string,
  firstInPath = "",
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: {
        ...process.env,
        PATH: [firstInPath, process.env.PATH].filter((part) => part).join(delimiter),
        FORCE_COLOR: "0",
        NO_COLOR: "1",
        TURBO_TELEMETRY_DISABLED: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.once("error", (error) => resolve({ succeeded: false, output: `${program}: ${error.message}` }));
    child.once("close", (code) =>
      resolve({ succeeded: code === 0, output: Buffer.concat(chunks).toString("utf8").trimEnd() }),
    );
  });
}
