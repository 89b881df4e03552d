import { ApiWorld } from "@kule/api/testing/api-world";
import { seededGenerator } from "@kule/lab/runtime";
import { worldCheck } from "@kule/testing/world-check/world-check";
import pg from "pg";
import { PoolModel, poolViolations } from "../pools/pool-model.ts";
import { PoolWalk } from "../pools/pool-walk.ts";
import { uncheckedCommits } from "../pools/unchecked-commits.ts";
import type { Row } from "../row.ts";

/** Walks, each with a seed of its own, and how many operations each takes. */
const WALKS = { sample: 5, full: 100 };
const OPERATIONS = 100;

export const row: Row = {
  id: "B6",
  title: "However jobs end, free, used and quarantined numbers and addresses add up to the total.",
  minutes: 2,
  mutants: [
    {
      name: "addresses-not-released",
      removes: "the release of a destroyed server's addresses, and the refusal of such a commit",
      patches: [
        uncheckedCommits,
        {
          file: "apps/api/src/products/servers/settle.ts",
          find: "await releaseAddresses(tx, server, settings.addressQuarantineSeconds);",
          replace: "",
        },
      ],
      expects: /addresses used in|I4 no address, VM number or interface of a server that is gone/,
    },
    {
      name: "vmid-not-released",
      removes: "the release of a destroyed server's VM number, and the refusal of such a commit",
      patches: [
        uncheckedCommits,
        {
          file: "apps/api/src/products/servers/settle.ts",
          find: 'await retireVmid(tx, server, (await wasNeverTakenOver(tx, server)) ? "quarantined" : "tombstone");',
          replace: "",
        },
      ],
      expects: /VM numbers used: \d+, and not/,
    },
    {
      name: "moved-before-it-has-left",
      removes: "the record of which VM still has an address that is moved, and the refusal of such a commit",
      patches: [
        uncheckedCommits,
        {
          file: "apps/api/src/products/public-ips/attach-public-ip.ts",
          find: "held_by: leaves ?? target.id,",
          replace: "held_by: target.id,",
        },
        {
          file: "apps/api/src/products/public-ips/attach-public-ip.ts",
          find: "waits: leaves !== null,",
          replace: "waits: false,",
        },
      ],
      expects: /may be on two servers/,
    },
  ],
  async run(run) {
    const world = await ApiWorld.open({ removalBufferSeconds: 3600, addressQuarantineSeconds: 600 });
    const owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
    owner.on("error", () => {});
    try {
      const model = new PoolModel();
      // Seeds of one run share a world: what one of them leaks is still missing in the next.
      let random = run.random;
      const walk = await PoolWalk.begin(world, owner, model, () => random());
      const violations: string[] = [];
      const check = async (when: string) => {
        const found = [
          ...(await poolViolations(owner, model)),
          ...walk.surprises.splice(0),
          ...(await worldCheck({ ownerUrl: world.database.ownerUrl })).map(
            ({ invariant, check: what, subject }) => `${invariant} ${what}: ${subject}`,
          ),
        ];
        violations.push(...found.map((text) => `${when}: ${text}`));
      };
      await check("before the first operation");
      let cases = 0;
      for (; cases < WALKS[run.scale] && violations.length === 0; cases += 1) {
        const seed = Math.floor(run.random() * 2 ** 31);
        random = seededGenerator(seed);
        const until = walk.operations + OPERATIONS;
        while (walk.operations < until) await walk.step();
        await check(`after walk ${cases + 1} (seed ${seed})`);
        if (cases % 10 === 9)
          run.progress(`${walk.operations} operations, ${model.destroyed} servers destroyed`);
      }
      if (violations.length === 0) {
        await walk.drain();
        await check("after everything was deleted");
        if (model.servers.size + model.subnets.size > 0)
          violations.push(
            `${model.servers.size} servers and ${model.subnets.size} subnets cannot be deleted`,
          );
      }
      if (violations.length === 0 && model.destroyed === 0) violations.push("no server was ever destroyed");
      if (violations.length === 0 && walk.moves === 0) violations.push("no public address was ever attached");
      return {
        cases,
        violations,
        figures: {
          operations: walk.operations,
          "servers destroyed": model.destroyed,
          "VM numbers replaced": model.replacedVmids,
          "VM numbers used again": model.freedVmids,
          "addresses attached or moved": walk.moves,
        },
      };
    } finally {
      await owner.end();
      await world.close();
    }
  },
};
