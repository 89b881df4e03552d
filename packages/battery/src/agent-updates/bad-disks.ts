// U6: a disk that is full, that cannot be written to, and from which nothing can be run. Each is a file system of its own, which
// only root can mount.

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { UpdateRig } from "@kule/agent/testing/update-rig";
import type { Part } from "./part.ts";

const OPT = "opt/kule-agent";

export const badDisks: Part = async () => {
  const what = "bad disks";
  if (process.getuid?.() !== 0) return { what, cases: 0, found: [], missing: "only root can mount" };
  const found: string[] = [];
  const mount = (...words: string[]) => execFileSync("mount", words, { stdio: "pipe" });
  const ways: readonly { readonly name: string; readonly options: string; readonly code: string | null }[] = [
    { name: "a full disk", options: "size=64k", code: "no_space" },
    { name: "a disk that cannot be written to", options: "ro", code: null },
    { name: "a disk from which nothing can be run", options: "noexec", code: "cannot_start" },
  ];
  for (const { name, options, code } of ways) {
    const rig = new UpdateRig();
    const folder = join(rig.root, OPT);
    let mounted = false;
    try {
      // The machine as it was, on a file system of its own.
      execFileSync("cp", ["-a", folder, `${folder}.kept`]);
      try {
        mount("-t", "tmpfs", "-o", options.startsWith("size") ? options : "size=64m", "tmpfs", folder);
      } catch (error) {
        return {
          what,
          cases: 0,
          found,
          missing: `nothing can be mounted: ${(error as Error).message.split("\n")[0]}`,
        };
      }
      mounted = true;
      execFileSync("cp", ["-a", `${folder}.kept/.`, folder]);
      if (!options.startsWith("size")) mount("-o", `remount,${options}`, folder);
      const before = rig.restarts;
      rig.ask("1.1.0");
      const first = await rig.run();
      await rig.run();
      if (rig.current !== "1.0.0" || rig.updater !== "1.0.0") found.push(`${name}: ${rig.current} runs`);
      if (rig.restarts !== before) found.push(`${name}: the agent was restarted`);
      if (code !== null && rig.state.result?.code !== code)
        found.push(`${name}: it is reported as ${rig.state.result?.code}: ${first.end}`);
      if (code === null && first.end !== "failed") found.push(`${name}: the updater ended as ${first.end}`);
      const halves = readdirSync(join(folder, "versions")).filter(
        (each) => each !== "1.0.0" && each !== "1.1.0",
      );
      if (halves.length > 0) found.push(`${name}: half a version is left: ${halves.join(", ")}`);
      if (rig.state.bad_versions.length > 0) found.push(`${name}: the version is blamed for it`);
      found.push(...rig.flaws().map((flaw) => `${name}: ${flaw}`));
    } finally {
      if (mounted) execFileSync("umount", ["-l", folder]);
      rig.end();
    }
  }
  return { what, cases: ways.length, found };
};
