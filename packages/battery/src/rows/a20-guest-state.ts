import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { activePatches, patchSource } from "@kule/build/source-patch";
import { killAtEveryProgram } from "@kule/programs/testing/killed-guest-state";
import { stateScript } from "@kule/programs/testing/state-guest";
import type { Row } from "../row.ts";

const root = resolve(import.meta.dirname, "../../../..");
const path = resolve(root, stateScript);

/** How often the script is killed before each of its programs. */
const REPEATS = { sample: 1, full: 3 };

export const row: Row = {
  id: "A20",
  title:
    "A guest whose state is changed has its old state or the new one, whatever is killed, and the same calls again finish",
  minutes: 2,
  mutants: [
    {
      name: "half-a-state-is-one",
      removes: "that a state is unpacked beside the others",
      patches: [
        {
          file: stateScript,
          find: 'if [ ! -d "$root/states/$name" ]; then unpack; fi',
          replace: 'if [ ! -d "$root/states/$name" ]; then mkdir "$root/states/$name"; unpack; fi',
        },
      ],
      expects: /the same calls again do not finish|the new state never comes|are not those of the state/,
    },
    {
      name: "switched-in-two-steps",
      removes: "the one rename that puts a state into force",
      patches: [
        {
          file: stateScript,
          find: '  mv -T "$root/current.new" "$root/current"\n',
          replace: '  rm -f "$root/current"\n  mv -T "$root/current.new" "$root/current"\n',
        },
      ],
      expects: /has the state of nobody/,
    },
    {
      name: "not-validated",
      removes: "the validation of a state before it is in force",
      patches: [
        {
          file: stateScript,
          find: 'if ! run_in "$root/unpacked" validate 15; then',
          replace: "if false; then",
        },
      ],
      expects: /a state that is not valid is in force/,
    },
  ],
  async run({ scale, progress }) {
    const script = patchSource(root, path, readFileSync(path, "utf8"), activePatches());
    const violations: string[] = [];
    let cases = 0;
    for (let round = 0; round < REPEATS[scale]; round += 1) {
      const found = await killAtEveryProgram(script, (kills) => {
        if (kills % 10 === 0) progress(`round ${round + 1}: ${kills} kills`);
      });
      cases += found.kills;
      violations.push(...found.violations);
    }
    return { cases, violations };
  },
};
