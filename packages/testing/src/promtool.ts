import { spawnSync } from "node:child_process";

/** Why promtool cannot be used; undefined when it can. It is in Debian's package prometheus. */
export function probePromtool(): string | undefined {
  const { error } = spawnSync("promtool", ["--version"]);
  return error === undefined ? undefined : `promtool cannot be run: ${error.message}`;
}

/**
 * Runs promtool.
 *
 * @returns its exit code, and what it wrote
 */
export function promtool(
  args: readonly string[],
  input = "",
): { readonly code: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, {
    input,
    encoding: "utf8",
    timeout: 300_000,
  });
  return { code: status, output: `${stdout}${stderr}`.trim() };
}
