import pg from "pg";
import type { Tried } from "./cross-use-by-api.ts";
import type { Regions, Side } from "./region-pair.ts";

/** Statements that put something of one region into another, past all code of the API, as its role. */
function statements(org: string, here: Side, there: Side): readonly (readonly [what: string, sql: string])[] {
  const ids = `'${org}'`;
  return [
    [
      "a subnet in a network of elsewhere",
      `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
       values ('sub_x', ${ids}, '${here.network}', '${there.region}', 'x', 'app', '10.250.0.0/24', '10.250.0.1', '10.250.0.2');
       update region_vlan set subnet_id = 'sub_x' where region = '${there.region}' and vlan = 390`,
    ],
    [
      "a subnet moved to another region",
      `update subnet set region = '${there.region}' where id = '${here.subnet}'`,
    ],
    [
      "a network moved to another region",
      `update network set region = '${there.region}' where id = '${here.network}'`,
    ],
    [
      "a server moved to another region",
      `update server set region = '${there.region}' where id = '${here.server}'`,
    ],
    [
      "an interface moved to another region",
      `update nic set region = '${there.region}' where id = '${here.nic}'`,
    ],
    [
      // Complete except for that: the address moves along.
      "an interface moved to a subnet of another region",
      `delete from address where nic_id = '${here.nic}';
       update nic set subnet_id = '${there.subnet}' where id = '${here.nic}';
       insert into address (subnet_id, address, organisation_id, state, nic_id)
       select id, gateway_ip + 77, organisation_id, 'used', '${here.nic}' from subnet where id = '${there.subnet}'`,
    ],
    [
      "a second interface in a subnet of another region",
      `insert into nic (id, organisation_id, region, server_id, subnet_id, position, mac)
       values ('nic_x', ${ids}, '${here.region}', '${here.server}', '${there.subnet}', 1, '0a:00:00:00:98:98')`,
    ],
    [
      "an address of a subnet of another region",
      `delete from address where nic_id = '${here.nic}';
       insert into address (subnet_id, address, organisation_id, state, nic_id)
       select id, gateway_ip + 78, organisation_id, 'used', '${here.nic}' from subnet where id = '${there.subnet}'`,
    ],
    [
      "a VM number of another region",
      `update region_vmid set state = 'tombstone', free_after = now() where server_id = '${here.server}' and state = 'used';
       update region_vmid set state = 'used', server_id = '${here.server}' where region = '${there.region}' and vmid = 20900`,
    ],
    [
      "a VLAN of another region",
      `update region_vlan set subnet_id = null where subnet_id = '${here.subnet}';
       update region_vlan set subnet_id = '${here.subnet}' where region = '${there.region}' and vlan = 391`,
    ],
    [
      "a job moved to another region",
      `update job set region = '${there.region}' where id = '${here.queuedJob}'`,
    ],
    [
      "a job in another region than its server",
      `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
       values ('job_x', ${ids}, '${there.region}', 'ServerStop', 'server', '${here.server}', '{}', 'req_x')`,
    ],
  ];
}

export async function crossUseBySql(regions: Regions, here: Side, there: Side): Promise<Tried> {
  const client = new pg.Client({ connectionString: regions.api.database.apiUrl });
  await client.connect();
  const violations: string[] = [];
  const all = statements(regions.organisation.id, here, there);
  try {
    for (const [what, sql] of all) {
      try {
        await client.query(
          `begin; select set_config('app.organisation', '${regions.organisation.id}', true); ${sql}`,
        );
        // The checks of COMMIT, without keeping what would be accepted.
        await client.query("set constraints all immediate");
        violations.push(`${here.region} for ${there.region} by SQL: ${what} would be committed`);
      } catch (error) {
        if (!(error instanceof pg.DatabaseError)) throw error;
        // A foreign key or a check at COMMIT; any other error would prove nothing about regions.
        if (!["23503", "23514"].includes(error.code ?? ""))
          violations.push(
            `${here.region} for ${there.region} by SQL: ${what} was refused for another reason: ${error.message}`,
          );
      } finally {
        await client.query("rollback");
      }
    }
  } finally {
    await client.end();
  }
  return { cases: all.length, violations };
}
