import type pg from "pg";

/**
 * Inserts many servers into an organisation at once, with interfaces, addresses and a finished job each, as
 * after weeks of use. Ids are `<prefix>` and the number in hexadecimal, which is a valid id of the API.
 *
 * @returns a function from a number below `count` to that server's id and its job's id
 */
export async function insertServers(
  owner: pg.Client,
  of: { readonly organisationId: string; readonly subnetId: string; readonly region: string },
  count: number,
  prefix: string,
): Promise<(index: number) => { server: string; job: string }> {
  const body = (index: number) => `0${prefix}${index.toString(16).padStart(25 - prefix.length, "0")}`;
  const id = `'0${prefix}' || lpad(to_hex(i), ${25 - prefix.length}, '0')`;
  const values = [of.organisationId, of.region, count];
  // No VM numbers: a region has too few. Only the replica role can commit that.
  await owner.query("set session_replication_role = replica");
  await owner.query(
    `insert into server (id, organisation_id, region, name, status, power_state, image, package, observed_generation, observed_at, created_at)
     select 'srv_' || ${id}, $1, $2, 'many-' || i, 'running', 'on', 'ubuntu-24.04', 's', 1, now(),
            now() - make_interval(secs => $3::integer - i)
       from generate_series(0, $3::integer - 1) i`,
    values,
  );
  await owner.query(
    `insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
     select 'nic_' || ${id}, $1, $2, 'srv_' || ${id}, $4,
            ('02' || substr(md5($1 || i), 1, 10))::macaddr
       from generate_series(0, $3::integer - 1) i`,
    [...values, of.subnetId],
  );
  await owner.query(
    `insert into address (subnet_id, address, organisation_id, state, nic_id)
     select $4, '172.16.0.0'::inet + i, $1, 'used', 'nic_' || ${id} from generate_series(0, $3::integer - 1) i
      where $2::text is not null`,
    [...values, of.subnetId],
  );
  await owner.query(
    `insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, phase, progress, attempt, epoch,
                      requested_by, request_id, started_at, finished_at)
     select 'job_' || ${id}, $1, $2, 'ServerCreate', 'server', 'srv_' || ${id}, 'succeeded', 'verify', 100, 1, 1,
            '{"type":"user","id":null,"name":"bench"}', 'req_bench', now(), now()
       from generate_series(0, $3::integer - 1) i`,
    values,
  );
  await owner.query("set session_replication_role = default");
  await owner.query("select kule_recount_quotas($1)", [of.organisationId]);
  await owner.query("vacuum analyze server, nic, address, job");
  return (index) => ({ server: `srv_${body(index)}`, job: `job_${body(index)}` });
}
