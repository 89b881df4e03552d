// U4 and U5: ten builds that do not work, and a former version that does not work either.

import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { type Behaviour, UpdateRig } from "@kule/agent/testing/update-rig";
import { VersionFolders } from "@kule/agent/update/versions";
import type { Part } from "./part.ts";

const BUILDS: readonly { readonly name: string; readonly does: Behaviour; readonly runs: boolean }[] = [
  { name: "ends with status 1", does: { endsAfter: 0 }, runs: true },
  { name: "dies of a segmentation fault", does: { endsAfter: 1, how: "signal SEGV" }, runs: true },
  { name: "hangs before it does anything", does: { hangs: true }, runs: true },
  { name: "dies after 20 s", does: { endsAfter: 20 }, runs: true },
  { name: "says that it is another version", does: { says: "1.0.9" }, runs: false },
  { name: "takes no jobs", does: { claimsNothing: true }, runs: true },
  { name: "uses more and more memory", does: { endsAfter: 100, how: "oom-kill" }, runs: true },
  { name: "cannot read the settings", does: { checkStatus: 78 }, runs: false },
  { name: "needs a newer C library", does: { file: "#!/lib/ld-of-tomorrow.so\n" }, runs: false },
  { name: "is for another kind of machine", does: { file: "\x7fELF\x02\x01\x01 arm64" }, runs: false },
];

export const badBuilds: Part = async () => {
  const found: string[] = [];
  const recoverySeconds: number[] = [];
  for (const { name, does, runs } of BUILDS) {
    const rig = new UpdateRig();
    rig.lookEveryMs = 1_000;
    const wrong = (text: string) => void found.push(`a build that ${name}: ${text}`);
    try {
      const begun = rig.restarts;
      let newSince: number | null = null;
      rig.onLook = () => {
        if (rig.current === "1.1.0") newSince ??= rig.startedMs;
      };
      rig.ask("1.1.0", does);
      await rig.run();
      if (newSince !== null) recoverySeconds.push((rig.startedMs - newSince) / 1000);
      const { result, bad_versions: bad } = rig.state;
      if (rig.current !== "1.0.0") wrong(`${rig.current} stays`);
      if (rig.restarts !== begun + (runs ? 2 : 0))
        wrong(`the agent was restarted ${rig.restarts - begun} times`);
      if (result?.state !== (runs ? "rolled_back" : "failed") || (result.message ?? "") === "")
        wrong(`it is reported as ${result?.state}: ${result?.message}`);
      if (bad[0]?.version !== "1.1.0") wrong("it is not remembered");
      rig.ask("1.1.0");
      await rig.run();
      if (rig.current !== "1.0.0") wrong("it is tried once more");
      found.push(...rig.flaws());
      rig.ask("1.2.0");
      await rig.run();
      if (rig.current !== "1.2.0") wrong("the next release is not taken");
    } finally {
      rig.end();
    }
  }
  return { what: "bad builds", cases: BUILDS.length, found, recoverySeconds };
};

/** The updater outlives both, and whoever looks is told. */
export const noWayBack: Part = async () => {
  const found: string[] = [];
  const ways: readonly {
    readonly name: string;
    readonly breaks: (rig: UpdateRig) => void;
    readonly ends: string;
  }[] = [
    {
      name: "the former version does not start either",
      breaks: (rig) => rig.installVersion("1.0.0", { endsAfter: 0 }),
      ends: "1.0.0",
    },
    {
      name: "the former version was deleted",
      breaks: (rig) => {
        const binary = new VersionFolders(rig.root, () => {}).binaryOf("1.0.0");
        rmSync(dirname(binary), { recursive: true, force: true });
      },
      ends: "1.1.0",
    },
  ];
  for (const { name, breaks, ends } of ways) {
    const rig = new UpdateRig();
    try {
      rig.ask("1.1.0", { endsAfter: 30 });
      rig.onLook = () => breaks(rig);
      await rig.run();
      rig.onLook = () => {};
      if (rig.current !== ends || rig.updater === null)
        found.push(`${name}: ${rig.current}, updater ${rig.updater}`);
      if (rig.state.phase !== "idle" || !/1\.0\.0/.test(rig.state.result?.message ?? ""))
        found.push(`${name}: nobody is told: ${rig.state.result?.message}`);
      rig.ask("1.2.0");
      await rig.run();
      if (rig.current !== "1.2.0")
        found.push(`${name}: the next release does not help: ${rig.state.result?.code}`);
    } finally {
      rig.end();
    }
  }
  return { what: "no way back", cases: ways.length, found };
};
