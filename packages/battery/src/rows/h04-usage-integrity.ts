import { ServerWorld } from "@kule/api/testing/server-world";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";
import { falseReports } from "../usage/false-reports.ts";
import { falseTraffic } from "../usage/false-traffic.ts";
import { secondsOff } from "../usage/seconds-off.ts";
import { runLifecycle } from "../usage/usage-lifecycle.ts";

const scales = {
  sample: { servers: 24, moves: 40, organisations: 3 },
  full: { servers: 120, moves: 60, organisations: 6 },
} as const;

export const row: Row = {
  id: "H4",
  title:
    "For every server the sum of its usage is its lifetime: no second missing, none twice, none after its removal",
  minutes: 1,
  mutants: [
    {
      name: "disk-never-released",
      removes: "the end of a disk's usage when its server is destroyed",
      patches: [
        {
          file: "packages/rules/src/servers/settle.ts",
          find: `      ...(facts.diskIsCounted ? (["disk.released"] as const) : []),
      "server.purged",`,
          replace: `      "server.purged",`,
        },
      ],
      expects: /disk of .*seconds off/,
    },
    {
      name: "run-never-closed",
      removes: "the end of the segment when a server stops",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/usage.ts",
          find: "when 'server.stopped' then perform kule_usage_close(p_event, 'compute');",
          replace: "when 'server.stopped' then null;",
        },
      ],
      expects: /compute of .*seconds off/,
    },
    {
      name: "usage-of-the-wrong-window",
      removes: "the part of a segment before the window from what a summary leaves out",
      patches: [
        {
          file: "apps/api/src/products/usage/summed-segments.ts",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in a template there
          find: "- greatest(started_at, ${since}))",
          replace: "- started_at)",
        },
      ],
      expects: /the summaries of .* seconds off/,
    },
    {
      name: "disk-of-any-size",
      removes: "the bound of a disk that a region reports",
      patches: [
        {
          file: "packages/rules/src/servers/disk.ts",
          find: "seenGb > recordedGb && seenGb <= orderedGb ? seenGb : null",
          replace: "seenGb > recordedGb ? seenGb : null",
        },
      ],
      expects: /a disk of \d+ GB is counted that nobody ordered/,
    },
    {
      name: "disk-of-the-largest-package",
      removes: "the ordered size from the bound of a server's disk",
      patches: [
        {
          file: "packages/rules/src/servers/disk.ts",
          find: "seenGb > recordedGb && seenGb <= orderedGb ? seenGb : null",
          replace: "seenGb > recordedGb && seenGb <= Math.max(orderedGb, largestDiskGb) ? seenGb : null",
        },
      ],
      expects: /a disk of 640 GB is counted that nobody ordered/,
    },
    {
      name: "traffic-of-any-size",
      removes: "the bound of what a load balancer's machine can have carried",
      patches: [
        {
          file: "packages/rules/src/load-balancers/plausible-traffic.ts",
          find: "if (longest === undefined || needs(longest) <= inMs)",
          replace: "if (longest === undefined || needs(longest) <= Number.MAX_VALUE)",
        },
      ],
      expects: /bytes are counted that no machine can have carried/,
    },
    {
      name: "time-for-each-reading",
      removes: "the limit of the time that readings of a machine have together",
      patches: [
        {
          file: "packages/rules/src/load-balancers/plausible-traffic.ts",
          find: "spareMs: Math.min(mostSpareMs, inMs - (longest === undefined ? 0 : needs(longest))),",
          replace: "spareMs: mostSpareMs,",
        },
      ],
      expects: /bytes are counted that no machine can have carried/,
    },
    {
      name: "correction-changes-nothing",
      removes: "the new quantity of a segment that was corrected",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/usage.ts",
          find: "set quantity = new.quantity",
          replace: "set quantity = quantity",
        },
      ],
      expects: /after its correction/,
    },
  ],

  async run(run: RowRun) {
    const world = await ServerWorld.open({ poolSize: 20 });
    try {
      const size = scales[run.scale];
      const owners = [];
      for (let index = 0; index < size.organisations; index += 1)
        owners.push(await world.world.addOrganisation(`usage-${index}`));
      const moves = await runLifecycle(world, owners, size, run);
      run.progress("comparing");
      const { violations, servers, worst } = await secondsOff(world, owners);
      violations.push(...(await falseReports(world)));
      violations.push(...(await falseTraffic(world)));
      violations.push(...(await worldViolations(world.world.database.ownerUrl, "at the end")));
      const [{ runs, disks }] = await world.rows(
        `select count(*) filter (where kind = 'compute')::integer as runs,
                count(*) filter (where kind = 'disk')::integer as disks from usage_segment where ended_at is not null`,
      );
      if (run.mutant === null && (runs === 0 || disks === 0))
        throw new Error(`${runs} runs and ${disks} disks ended: these lives were too dull to say anything`);
      return {
        cases: servers,
        violations,
        figures: { moves, servers, "runs ended": runs, "disks ended": disks, "seconds off at most": worst },
      };
    } finally {
      await world.close();
    }
  },
};
