import { KeyWorld } from "../idempotency/key-world.ts";
import { checkKey, keyedOperations, raceForKey } from "../idempotency/misuse.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

const idempotency = "apps/api/src/platform/idempotency.ts";

export const row: Row = {
  id: "A12",
  title: "An idempotency key does one thing once, for its caller only, at every replica, for a day",
  minutes: 0.5,
  mutants: [
    {
      name: "key-without-organisation",
      removes: "the organisation in the scope of a key",
      patches: [
        {
          file: idempotency,
          find: `organisation_id: request.established.keyOrganisation,`,
          replace: `organisation_id: "",`,
        },
      ],
      expects: /another organisation/,
    },
    {
      name: "hash-not-compared",
      removes: "the comparison of the request with the one that the key was used for",
      patches: [
        {
          file: idempotency,
          find: "if (!asked.equals(record.request_hash)) {",
          replace: "if (false) {",
        },
      ],
      expects: /another body/,
    },
    {
      name: "key-not-taken",
      removes: "the key's row that concurrent requests wait for",
      patches: [
        {
          file: "apps/api/src/platform/mutation.ts",
          find: "const replayed = await takeKey(tx, request, key);",
          replace: "const replayed = null as Reply | null;",
        },
      ],
      expects: /at once with one key/,
    },
    {
      name: "key-for-ever",
      removes: "the end of a key's time",
      patches: [
        { file: idempotency, find: "now() - interval '24 hours'", replace: "now() - interval '99 years'" },
      ],
      expects: /after a day/,
    },
  ],

  async run(run: RowRun) {
    const world = await KeyWorld.open();
    const full = run.scale === "full";
    try {
      const violations: string[] = [];
      let cases = 0;
      for (let round = 0; round < (full ? 4 : 1); round += 1)
        for (const operation of keyedOperations) {
          violations.push(...(await checkKey(world, operation)));
          cases += 7;
        }
      run.progress(`${cases} misuses`);
      let requests = 0;
      for (let round = 0; round < (full ? 12 : 1); round += 1)
        for (const operation of keyedOperations) {
          violations.push(...(await raceForKey(world, operation, 50)));
          cases += 1;
          requests += 50;
        }
      violations.push(...(await worldViolations(world.api.database.ownerUrl, "at the end")));
      return {
        cases,
        violations,
        figures: { operations: keyedOperations.length, "requests in races": requests },
      };
    } finally {
      await world.close();
    }
  },
};
