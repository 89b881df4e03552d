// U2: whoever serves releases, and whoever has the agent's account, against the updater.

import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Publisher } from "@kule/agent/testing/publisher";
import { UpdateRig } from "@kule/agent/testing/update-rig";
import { downloadedFile, KEYS_FILE, manifestFile, REQUEST_FILE } from "@kule/agent/update/request";
import type { Part } from "./part.ts";

type Attack = { readonly name: string; readonly do: (rig: UpdateRig) => void | Promise<void> };

const evil = '#!/bin/sh\n# behaviour: {"version":"1.1.0","does":{}}\necho 1.1.0\n';

const leave = (rig: UpdateRig, name: string, value: unknown) =>
  writeFileSync(rig.inAgentFolder(name), typeof value === "string" ? value : JSON.stringify(value));

const ATTACKS: readonly Attack[] = [
  {
    name: "arbitrary software",
    do: (rig) => {
      rig.ask("1.1.0");
      leave(rig, downloadedFile("1.1.0"), evil);
      leave(rig, manifestFile("1.1.0"), new Publisher().sign("1.1.0", Buffer.from(evil)));
    },
  },
  {
    name: "another file under a true manifest",
    do: (rig) => {
      rig.ask("1.1.0");
      const path = rig.inAgentFolder(downloadedFile("1.1.0"));
      writeFileSync(path, readFileSync(path, "utf8").replace("checked", "changed"));
    },
  },
  {
    name: "rollback to an older release",
    do: (rig) => void rig.ask("0.9.0"),
  },
  {
    name: "replay of a release that has run",
    do: async (rig) => {
      rig.ask("1.4.0");
      await rig.run();
      rig.ask("0.9.0", {}, { rollback_to: true });
      await rig.run();
      rig.ask("1.4.0");
    },
  },
  {
    name: "freeze at an expired release",
    do: (rig) => void rig.ask("1.1.0", {}, { expires_at: new Date(Date.now() - 1_000).toISOString() }),
  },
  {
    name: "mix and match of manifests",
    do: (rig) => {
      rig.ask("1.2.0");
      const manifest = readFileSync(rig.inAgentFolder(manifestFile("1.2.0")), "utf8");
      rig.ask("1.1.0");
      leave(rig, manifestFile("1.1.0"), manifest);
    },
  },
  {
    name: "endless data",
    do: (rig) => {
      rig.ask("1.1.0");
      leave(rig, manifestFile("1.1.0"), `${" ".repeat(200_000)}{}`);
    },
  },
  {
    name: "a replaced key",
    do: async (rig) => {
      const stolen = evil.replaceAll("1.1.0", "1.5.0");
      const signed = rig.publisher.sign("1.5.0", Buffer.from(stolen));
      rig.publisher.rotate();
      rig.ask("1.1.0", { checkStatus: 1 });
      await rig.run();
      rig.ask("1.5.0", { file: stolen });
      leave(rig, manifestFile("1.5.0"), signed);
      leave(rig, KEYS_FILE, { envelopes: [] });
    },
  },
  {
    name: "successor keys of nobody",
    do: (rig) => {
      const other = new Publisher();
      other.rotate();
      rig.ask("1.1.0");
      leave(rig, downloadedFile("1.1.0"), evil);
      leave(rig, manifestFile("1.1.0"), other.sign("1.1.0", Buffer.from(evil)));
      leave(rig, KEYS_FILE, { envelopes: other.chain });
    },
  },
  ...[downloadedFile("1.1.0"), manifestFile("1.1.0"), REQUEST_FILE].map(
    (name): Attack => ({
      name: `a link in the place of ${name}`,
      do: (rig) => {
        rig.ask("1.1.0");
        const elsewhere = join(rig.root, "elsewhere");
        renameSync(rig.inAgentFolder(name), elsewhere);
        symlinkSync(elsewhere, rig.inAgentFolder(name));
      },
    }),
  ),
  {
    name: "a link in the place of the folder",
    do: (rig) => {
      rig.ask("1.1.0");
      const folder = join(rig.inAgentFolder("x"), "..");
      const elsewhere = join(rig.root, "elsewhere");
      renameSync(folder, elsewhere);
      symlinkSync(elsewhere, folder);
    },
  },
  {
    name: "a version that is a path",
    do: (rig) => {
      rig.ask("1.1.0");
      leave(rig, REQUEST_FILE, { format: 1, id: "one", version: "../../../tmp/x" });
    },
  },
];

/** What ran before, and nothing of what was asked for. */
const BEFORE = new Set(["1.0.0", "0.9.0"]);

export const attacks: Part = async () => {
  const found: string[] = [];
  for (const { name, do: attack } of ATTACKS) {
    const rig = new UpdateRig();
    try {
      await attack(rig);
      const before = rig.current;
      await rig.run();
      if (rig.current !== before)
        found.push(`${name}: ${rig.current} runs, which is not what was signed for it`);
      if (name === "rollback to an older release" && !BEFORE.has(rig.current ?? ""))
        found.push(`${name}: it ran`);
      found.push(...rig.flaws().map((flaw) => `${name}: ${flaw}`));
      // Whoever attacks has not kept the publisher's next release away.
      rmSync(join(rig.inAgentFolder("x"), ".."), { recursive: true, force: true });
      rig.ask("2.0.0");
      await rig.run();
      if (rig.current !== "2.0.0")
        found.push(`${name}: after it ${rig.current} stays, ${rig.state.result?.code}`);
    } finally {
      rig.end();
    }
  }
  return { what: "attacks refused", cases: ATTACKS.length, found };
};
