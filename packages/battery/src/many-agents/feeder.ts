import type pg from "pg";

/**
 * Servers in their removal buffer that never had a VM, and stops for them: the cheapest job for an agent. It
 * claims, queries the region, finds nothing to do, verifies and reports. Written straight into the database,
 * in one transaction as the API does, because creating a job through the API costs more than an agent needs
 * to run it.
 */
export class Feeder {
  readonly #owner: pg.ClientBase;
  fed = 0;

  private constructor(owner: pg.ClientBase) {
    this.#owner = owner;
  }

  static async open(
    owner: pg.ClientBase,
    organisationId: string,
    subnetId: string,
    servers: number,
  ): Promise<Feeder> {
    await owner.query("begin");
    const values = [organisationId, servers];
    await owner.query(
      `insert into server (id, organisation_id, region, name, status, power_state, image, package, purge_at, restores_to,
                           deletion_requested_at, deletion_requested_by)
       select 'srv_' || lpad(n::text, 26, '0'), $1, 'lab1', 'fed-' || n, 'pending_deletion', 'off', 'ubuntu-24.04', 's',
              now() + interval '1 day', 'error', now(), '{"type":"system","id":null,"name":null}'
         from generate_series(1, $2::integer) n`,
      values,
    );
    // From the end of the range: the API allocates from its beginning.
    await owner.query(
      `update region_vmid set state = 'used', server_id = 'srv_' || lpad((30000 - vmid)::text, 26, '0')
        where region = 'lab1' and vmid >= 30000 - $1::integer`,
      [servers],
    );
    await owner.query(
      `insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
       select 'nic_' || lpad(n::text, 26, '0'), $1, 'lab1', 'srv_' || lpad(n::text, 26, '0'), $3,
              ('06' || substr(md5(n::text), 1, 10))::macaddr from generate_series(1, $2::integer) n`,
      [...values, subnetId],
    );
    await owner.query(
      `insert into address (subnet_id, address, organisation_id, state, nic_id)
       select u.id, host(broadcast(u.cidr))::inet - 1 - n, $1, 'used', 'nic_' || lpad(n::text, 26, '0')
         from subnet u, generate_series(1, $2::integer) n where u.id = $3`,
      [...values, subnetId],
    );
    await owner.query("commit");
    return new Feeder(owner);
  }

  /** A stop for every fed server that has none waiting, in one transaction with its queue entry. */
  async feed(): Promise<number> {
    await this.#owner.query("begin");
    const { rows } = await this.#owner.query<{ count: number }>(
      `with fed as (
         insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id)
         select 'job_' || lpad(nextval('battery.fed')::text, 26, '0'), s.organisation_id, s.region, 'ServerStop', 'server',
                s.id, '{"type":"system","id":null,"name":null}', 'req_fed'
           from server s
          where s.name like 'fed-%' and not exists (
            select 1 from job j where j.organisation_id = s.organisation_id and j.resource_id = s.id and j.status in ('queued', 'running'))
         returning id)
       select count(*)::integer as count from fed`,
    );
    await this.#owner.query(
      `select kule_queue_add(j.id) from job j where j.request_id = 'req_fed' and j.status = 'queued'
          and not exists (select 1 from graphile_worker._private_jobs q where q.key = j.id)`,
    );
    await this.#owner.query("commit");
    const count = rows[0]?.count ?? 0;
    this.fed += count;
    return count;
  }
}
