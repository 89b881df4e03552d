import pg from "pg";
import type { Mutant, Row } from "../row.ts";
import { fillEveryTable } from "../tenancy/every-table.ts";
import { tenantForeignKeys, tryToCross } from "../tenancy/foreign-keys.ts";
import { unkeyedReferences } from "../tenancy/unkeyed-references.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

const mutant = (name: string, child: string, file: string, find: string, replace: string): Mutant => ({
  name,
  removes: `the organisation in a foreign key of ${child}`,
  patches: [{ file: `packages/database/src/migrations/0001-baseline/${file}`, find, replace }],
  expects: new RegExp(`row of ${child} .* was let through`),
});

export const row: Row = {
  id: "C6",
  title: "No row of an organisation can have a parent row of another one.",
  minutes: 0.1,
  mutants: [
    mutant(
      "bare-key-address-nic",
      "address",
      "addresses.ts",
      "foreign key (organisation_id, nic_id) references nic (organisation_id, id)",
      "foreign key (nic_id) references nic (id)",
    ),
    mutant(
      "bare-key-subnet-network",
      "subnet",
      "networks.ts",
      "foreign key (organisation_id, network_id, region) references network (organisation_id, id, region)",
      "foreign key (network_id) references network (id)",
    ),
  ],
  run: () =>
    withTwoOrganisations(async (all) => {
      await fillEveryTable(all);
      const owner = new pg.Client({ connectionString: all.world.database.ownerUrl });
      await owner.connect();
      try {
        const keys = await tenantForeignKeys(owner);
        const { columns, violations } = await unkeyedReferences(owner);
        let cases = columns;
        for (const key of keys)
          for (const [one, other] of [
            [all.a, all.b],
            [all.b, all.a],
          ] as const)
            for (const crossing of await tryToCross(owner, key, one.tenant.id, other.tenant.id)) {
              cases += 1;
              if (crossing.violation !== null) violations.push(crossing.violation);
            }
        if (keys.length < 8)
          violations.push(`only ${keys.length} foreign keys between tenant tables were found`);
        return {
          cases,
          violations,
          figures: {
            "foreign keys covered": `${keys.length} of ${keys.length}`,
            "references without a key, each with its reason": columns,
          },
        };
      } finally {
        await owner.end();
      }
    }),
};
