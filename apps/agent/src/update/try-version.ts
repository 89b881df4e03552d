import type { UpdateReason } from "./machine-state.ts";
import type { Ran } from "./run-as-agent.ts";

/**
 * Runs a version that is not in use yet: it has to be what it claims to be, and to be able to load the settings of this machine.
 * What keeps the version in use from the same is no fault of the new one.
 *
 * @param run runs a version with these words
 * @returns null when it is fit to run
 */
export function tryVersion(
  version: string,
  former: string | null,
  run: (version: string, words: readonly string[]) => Ran,
  regionFile: string,
): (UpdateReason & { readonly bad: boolean }) | null {
  const asked = run(version, ["--version"]);
  const said = asked.output.trim().split("\n")[0] ?? "";
  if (asked.trouble !== null || asked.status !== 0) {
    const how =
      asked.trouble ?? `--version ended with status ${asked.status}${said === "" ? "" : `: ${said}`}`;
    const canFormer = former !== null && run(former, ["--version"]).status === 0;
    return { code: "cannot_start", message: `${version} does not run here: ${how}`, bad: canFormer };
  }
  if (said !== version)
    return {
      code: "wrong_version",
      message: `the binary of ${version} says that it is ${said.slice(0, 50)}`,
      bad: true,
    };
  const words = ["check-self", regionFile];
  const checked = run(version, words);
  if (checked.trouble === null && checked.status === 0) return null;
  const how = checked.trouble ?? (checked.output.trim().split("\n")[0] || `status ${checked.status}`);
  const canFormer = former !== null && run(former, words).status === 0;
  return canFormer
    ? { code: "check_failed", message: `${version} cannot work with the settings: ${how}`, bad: true }
    : { code: "settings", message: `the settings cannot be used, by ${former} neither: ${how}`, bad: false };
}
