import { worldViolations } from "../races/world-violations.ts";
import { crossUseByApi, hiddenRegion, ownJobsOnly, type Tried } from "../regions/cross-use-by-api.ts";
import { crossUseBySql } from "../regions/cross-use-by-sql.ts";
import { openRegions } from "../regions/region-pair.ts";
import type { Row, RowRun } from "../row.ts";

/*
 * Images and SSH keys belong to no region in Kule: the catalogue is the installation's, keys are the
 * organisation's. The resources of a region that can be named are its networks, subnets, addresses, numbers,
 * jobs, agents' tokens, and its sealing key.
 */
export const row: Row = {
  id: "B9",
  title: "Nothing of one region is used in another, by the API or by SQL",
  minutes: 0.3,
  mutants: [
    {
      name: "no-region-test",
      removes: "the test that a server's subnet is in the server's region",
      patches: [
        {
          file: "apps/api/src/products/servers/placement.ts",
          find: "if (region !== null && named.region !== region.slug)",
          replace: "if (false)",
        },
      ],
      // It is refused all the same, since the subnet is looked for among those of the region; but for no reason that helps.
      expects: /a subnet, for a server: (?!422 \/subnet_id conflicts_with)/,
    },
    {
      name: "interface-key-without-region",
      removes: "the region in the foreign key from an interface to its subnet",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/servers.ts",
          find: "foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region)",
          replace: "foreign key (organisation_id, subnet_id) references subnet (organisation_id, id)",
        },
      ],
      expects: /an interface moved to a subnet of another region would be committed/,
    },
    {
      name: "agent-of-any-region",
      removes: "the region in the search for the job that an agent reports",
      patches: [
        {
          file: "apps/api/src/agent/find-job.ts",
          find: `
    .where("region", region === null ? "is" : "=", region)`,
          replace: "",
        },
      ],
      expects: /reported by the agent there/,
    },
  ],

  async run(run: RowRun) {
    const regions = await openRegions(run.scale === "full" ? 4 : 2);
    try {
      const tried: Tried[] = [];
      for (const here of regions.sides)
        for (const there of regions.sides) {
          if (here === there) continue;
          const bySql = await crossUseBySql(regions, here, there);
          tried.push(bySql, await crossUseByApi(regions, here, there));
          run.progress(`${here.region} for ${there.region}`);
        }
      tried.push(await hiddenRegion(regions), await ownJobsOnly(regions));
      const left = await worldViolations(regions.api.database.ownerUrl, "at the end");
      return {
        cases: tried.reduce((sum, { cases }) => sum + cases, 0),
        violations: [...tried.flatMap(({ violations }) => violations), ...left],
        figures: { regions: regions.sides.length },
      };
    } finally {
      await regions.close();
    }
  },
};
