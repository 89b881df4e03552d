import type pg from "pg";

/** Servers of an organisation, which has one network, in turn in each of the regions. */
const serversPerOrganisation = 200;
const organisationsPerRegion = 100;
const jobsPerServer = 3;
const stepsPerJob = 8;

/**
 * An installation after a long time: nine of ten servers exist, each has had three jobs with eight steps, one
 * job in twenty was taken over by another agent, and all of it is in the audit trail and in usage. It
 * violates no invariant.
 */
export async function insertOldInstallation(owner: pg.Client, servers: number): Promise<void> {
  const regions = Math.max(5, Math.ceil(servers / serversPerOrganisation / organisationsPerRegion));
  const organisations = regions * organisationsPerRegion;
  const perRegion = Math.ceil(servers / regions) + 1000;
  // In the order of their creation, as real ids are. The first one is a year old, the last one a day.
  const number = (of: string) => `lpad((${of})::text, 9, '0')`;
  const born = (of: string) =>
    `(now() - interval '1 day' - interval '364 days' * (1 - (${of})::float8 / ${servers}))`;
  const all = `generate_series(0, ${servers} - 1) i`;
  const isGone = "(i / 500) % 10 = 9";
  const whenGone = (value: string) => `case when ${isGone} then ${value} end`;
  // Rows of one moment: triggers for each of them would take longer than the bench.
  await owner.query("set session_replication_role = replica");
  const statements = [
    // The months of its history, as its worker would have made them.
    `do $$
     declare
       v_first constant date := date_trunc('month', now() - interval '13 months');
       v_table text;
       v_month date;
     begin
       foreach v_table in array array['job_step', 'audit'] loop
         perform kule_history_drop(v_table, v_first);
         for v_month in select generate_series(v_first, date_trunc('month', now()) - interval '1 day', '1 month') loop
           perform kule_history_add(v_table, to_char(v_month, 'YYYY_MM'), kule_history_bound(v_table, v_month),
                                    kule_history_bound(v_table, (v_month + interval '1 month')::date));
         end loop;
       end loop;
     end $$`,
    `insert into organisation (id, slug, name)
     select 'org_old' || i, 'old-' || i, 'Old' from generate_series(0, ${organisations - 1}) i`,
    `insert into region (slug, name, vmid_first, vmid_last, vlan_first, vlan_last, health_ok, health_at, status_since)
     select 'old' || i, 'Old', 100, ${99 + perRegion}, 2, 3001, true, now(), now() - interval '1 day'
       from generate_series(0, ${regions - 1}) i`,
    `insert into region_vmid (region, vmid)
     select slug, generate_series(vmid_first, vmid_last) from region where slug like 'old%'`,
    `insert into region_vlan (region, vlan)
     select slug, generate_series(vlan_first, vlan_last) from region where slug like 'old%'`,
    `insert into network (id, organisation_id, region, name, cidr)
     select 'net_old' || i, 'org_old' || i, 'old' || i % ${regions}, 'n', '10.0.0.0/8'
       from generate_series(0, ${organisations - 1}) i`,
    `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
     select 'sub_old' || i || '_' || k, 'org_old' || i, 'net_old' || i, 'old' || i % ${regions}, 's' || k, 'app',
            ('10.' || k || '.0.0/24')::cidr, ('10.' || k || '.0.1')::inet, ('10.' || k || '.0.2')::inet
       from generate_series(0, ${organisations - 1}) i, generate_series(0, 9) k`,
    `update region_vlan v set subnet_id = u.id
       from (select id, region, 1 + row_number() over (partition by region order by id) as vlan
               from subnet where id like 'sub_old%') u
      where u.region = v.region and u.vlan = v.vlan`,
    `insert into address (subnet_id, address, organisation_id, state)
     select u.id, kept, u.organisation_id, 'reserved'
       from subnet u, unnest(array[host(network(cidr))::inet, gateway_ip, host(broadcast(cidr))::inet]) kept
      where u.id like 'sub_old%'`,
    `insert into server (id, organisation_id, region, name, status, power_state, image, package,
                         observed_generation, purge_at, restores_to, created_at, deleted_at)
     select 'srv_old' || ${number("i")}, 'org_old' || i % ${organisations}, 'old' || i % ${regions}, 'old-' || i,
            case when ${isGone} then 'deleted' else 'running' end, case when ${isGone} then 'off' else 'on' end,
            'debian-12', 's', 1, ${whenGone(`${born("i")} + interval '2 hours'`)}, ${whenGone("'running'")}, ${born("i")},
            ${whenGone(`${born("i")} + interval '3 hours'`)}
       from ${all}`,
    `update region_vmid v
        set state = case s.status when 'deleted' then 'tombstone' else 'used' end, server_id = s.id,
            free_after = case s.status when 'deleted' then now() + interval '9 days' end
       from (select id, region, status, 99 + row_number() over (partition by region order by id) as vmid
               from server where id like 'srv_old%') s
      where s.region = v.region and s.vmid = v.vmid`,
    `insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
     select 'nic_old' || ${number("i")}, 'org_old' || i % ${organisations}, 'old' || i % ${regions}, 'srv_old' || ${number("i")},
            'sub_old' || i % ${organisations} || '_0', ('02' || lpad(to_hex(i), 10, '0'))::macaddr
       from ${all} where not ${isGone}`,
    `insert into address (subnet_id, address, organisation_id, state, nic_id)
     select subnet_id, '10.0.0.1'::inet + row_number() over (partition by subnet_id order by id),
            organisation_id, 'used', id from nic where id like 'nic_old%'`,
    `update subnet u set lowest_free_hint = '10.0.0.2'::inet + used.n
       from (select subnet_id, count(*) n from address where state = 'used' group by subnet_id) used
      where used.subnet_id = u.id and u.id like 'sub_old%'`,
    `insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, phase, progress,
                      attempt, epoch, last_seq, requested_by, request_id, created_at, run_at, started_at, finished_at)
     select kule_first_id('job', at.at) || 'old' || ${number("i")} || '_' || k, 'org_old' || i % ${organisations}, 'old' || i % ${regions},
            (array['ServerCreate', 'ServerStop', case when ${isGone} then 'ServerDestroy' else 'ServerRestore' end])[k],
            'server', 'srv_old' || ${number("i")}, 'succeeded', 'verify', 100, 1, case i % 20 when 0 then 2 else 1 end,
            ${stepsPerJob}, '{}', 'req_old', at.at, at.at, at.at, at.at + interval '10 minutes'
       from ${all}, generate_series(1, ${jobsPerServer}) k,
            lateral (select ${born("i")} + make_interval(hours => k) as at) at
      order by i, k`,
    `insert into job_step (job_id, organisation_id, epoch, seq, attempt, phase, name, status, started_at, finished_at)
     select j.id, j.organisation_id, e, s, 1, 'apply', 'step-' || s, 'succeeded', at.at, at.at
       from job j, generate_series(1, ${stepsPerJob}) s, generate_series(1, j.epoch) e,
            lateral (select j.started_at + make_interval(secs => e * 100 + s) as at) at
      where j.request_id = 'req_old'`,
    `insert into audit (id, at, organisation_id, actor_type, action, resource, outcome, http_status, request_id)
     select 'aud_' || id || '_' || k, case k when 4 then finished_at else created_at end, organisation_id,
            case k when 4 then 'agent' else 'user' end, case k when 4 then 'job.end' else 'server.update' end,
            case k when 4 then id else resource_id end, 'succeeded', 200, 'req_old'
       from job, generate_series(1, 4) k where request_id = 'req_old'`,
    `insert into usage_event (id, organisation_id, seq, kind, at, region, resource_type, resource_id, resource_name, quantity, job_id)
     select 'use_' || s.id || '_' || e.position, s.organisation_id,
            row_number() over (partition by s.organisation_id order by s.id, e.position), e.kind,
            s.created_at + make_interval(hours => e.job, secs => 600 + e.position), s.region, 'server',
            s.id, s.name, '{}', j.id
       from server s cross join lateral (values (1, 'disk.allocated', 1), (2, 'server.started', 1),
              (3, 'server.purge_scheduled', 2), (4, 'server.stopped', 2),
              (5, case s.status when 'deleted' then 'disk.released' else 'server.started' end, 3),
              (6, case s.status when 'deleted' then 'server.purged' end, 3)) e (position, kind, job)
       join job j on j.resource_id = s.id and right(j.id, 2) = '_' || e.job
      where s.id like 'srv_old%' and e.kind is not null`,
    // Triggers are off here: what they would derive is written along.
    `insert into usage_segment (id, organisation_id, region, resource_type, resource_id, resource_name, kind, quantity,
                                labels, started_at, ended_at, opened_by, closed_by)
     select 'seg_' || substr(id, 5), organisation_id, region, resource_type, resource_id, resource_name,
            case kind when 'server.started' then 'compute' else 'disk' end, quantity, labels, at, until, id, closed_by
       from (select *, lead(at) over turns as until, lead(id) over turns as closed_by from usage_event
              where resource_id like 'srv_old%' and kind <> 'server.purge_scheduled' and kind <> 'server.purged'
             window turns as (partition by resource_id, kind like 'server.%' order by seq)) turn
      where kind in ('server.started', 'disk.allocated')`,
    `update organisation o set usage_seq = (select count(*) from usage_event u where u.organisation_id = o.id)
      where o.id like 'org_old%'`,
    "reset session_replication_role",
    "select kule_recount_quotas(id) from organisation",
    "vacuum analyze",
  ];
  for (const statement of statements) await owner.query(statement);
}
