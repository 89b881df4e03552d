import { worldViolations } from "../races/world-violations.ts";
import { bufferEndRaces } from "../removal-races/buffer-end.ts";
import {
  changeWhileDeleting,
  deleteTwice,
  deleteWhileCreating,
  deleteWhileRetried,
  expiryWhileStopping,
} from "../removal-races/other-races.ts";
import { RemovalScene } from "../removal-races/race-scene.ts";
import type { Row, RowRun } from "../row.ts";

const others = [
  deleteWhileCreating,
  deleteTwice,
  changeWhileDeleting,
  expiryWhileStopping,
  deleteWhileRetried,
];

export const row: Row = {
  id: "A16",
  title: "At the end of the removal buffer a server is either kept or destroyed, and never before its time",
  minutes: 1.5,
  mutants: [
    {
      name: "no-server-lock",
      removes: "the lock on the server's row",
      patches: [{ file: "apps/api/src/products/servers/store.ts", find: "\n    .forUpdate()", replace: "" }],
      expects: /both: |neither: |: 500 internal_error|the task at the end of the buffer failed/,
    },
    {
      name: "cancel-without-look",
      removes: "the check of the server's status by cancel-deletion",
      patches: [
        {
          file: "apps/api/src/products/servers/cancel-server-deletion.ts",
          find: "refuseConflicts(refusals, server.status);",
          replace: "",
        },
      ],
      expects: /both: |cancel of \S+ at the end of its buffer: |after a cancel that answered/,
    },
    {
      name: "expiry-before-its-time",
      removes: "the check of the time before a server is destroyed",
      patches: [
        {
          file: "apps/api/src/worker/expire-removal-buffer.ts",
          find: "if (!region.isDue || region.waitsForRestore) return false;",
          replace: "",
        },
      ],
      expects: /ms before its buffer ended/,
    },
  ],

  async run(run: RowRun) {
    const scene = await RemovalScene.open(run.random);
    const full = run.scale === "full";
    const rounds = full ? 70 : 3;
    const batch = full ? 10 : 6;
    const offset = Math.floor(run.random() * others.length);
    let cases = 0;
    try {
      for (let round = 0; round < rounds && scene.violations.length < 50; round += 1) {
        await bufferEndRaces(scene, batch);
        cases += batch;
        // Every other round has one of the others behind it; which ones a sample has is the seed's.
        if (round % 2 === 0) {
          await others[(offset + round / 2) % others.length]?.(scene, batch);
          cases += batch;
        }
        if (round % 10 === 9)
          scene.violations.push(
            ...(await worldViolations(scene.world.world.database.ownerUrl, `after round ${round + 1}`)),
          );
        run.progress(`${cases} races`);
      }
      await scene.removeAll();
      scene.violations.push(...(await worldViolations(scene.world.world.database.ownerUrl, "in the end")));
      const won = (who: string) => scene.outcomes.get(`the ${who} won`) ?? 0;
      // A race that one side always wins is none.
      for (const who of ["cancel", "end of the buffer"])
        if (full && won(who) < cases / 50)
          scene.violations.push(`the ${who} won only ${won(who)} of ${cases} races: the window is not met`);
      return {
        cases,
        violations: scene.violations,
        figures: { "cancel won": won("cancel"), "end of the buffer won": won("end of the buffer") },
      };
    } finally {
      await scene.world.close();
    }
  },
};
