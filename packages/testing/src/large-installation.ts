import type pg from "pg";

/** Whose lists are read: an organisation with a network, in a region. */
export type LargestOrganisation = {
  readonly organisationId: string;
  readonly region: string;
  readonly networkId: string;
  readonly subnetId: string;
};

const FIRST = "0f000000000000000000000000";
/** Entries of the largest organisation, or of the installation, by the names that paths have for them. */
export const KNOWN = {
  server: `srv_${FIRST}`,
  network: `net_${FIRST}`,
  job: `job_${FIRST}`,
  user: `usr_${FIRST}`,
  member: `mem_${FIRST}`,
  invitation: `inv_${FIRST}`,
  token: `tok_${FIRST}`,
  ssh_key: `key_${FIRST}`,
  reservation: `rsv_${FIRST}`,
  firewall: `fw_${FIRST}`,
  gateway: `gw_${FIRST}`,
  ip_pool: `pool_${FIRST}`,
  public_ip: `ip_${FIRST}`,
  domain: `dom_${FIRST}`,
  certificate: `cert_${FIRST}`,
  load_balancer: `lb_${FIRST}`,
  listener: `lsn_${FIRST}`,
  target: `tgt_${FIRST}`,
  agent_rollout: `rol_${FIRST}`,
} as const;

/** How many small organisations share the half of the installation that is not the largest one's. */
const SMALL_ORGANISATIONS = 100;

/**
 * Fills an installation as years of use do, for what must not become slower with its size: half of everything belongs to
 * one organisation, which has never rebuilt or resized a server and never failed at anything, as the others have. Rows of one moment, written past the triggers: it breaks invariants (addresses of small organisations,
 * VM numbers), so nothing may be allocated in it afterwards.
 *
 * @param servers how many there are in all; each has had five jobs, ten entries in the audit trail and three usage events
 */
export async function insertLargeInstallation(
  owner: pg.Client,
  largest: LargestOrganisation,
  servers: number,
): Promise<void> {
  const id = (prefix: string, number = "i") => `'${prefix}_0f' || lpad(to_hex(${number}), 24, '0')`;
  const small = `(i % ${SMALL_ORGANISATIONS})`;
  /** Even rows are the largest organisation's. */
  const ofLargest = "i % 2 = 0";
  const organisation = `case when ${ofLargest} then '${largest.organisationId}' else ${id("org", small)} end`;
  const subnet = `case when ${ofLargest} then '${largest.subnetId}' else ${id("sub", small)} end`;
  const region = `case when i % 10 = 8 then 'many' || (i / 10) % 4 else '${largest.region}' end`;
  const all = (share = 1) => `generate_series(0, ${Math.max(200, Math.floor(servers / share))} - 1) i`;
  /** One of 50 servers belongs to a load balancer, which has many. */
  const ownedBy = (number: string) =>
    ["'load_balancer'", id("lb", `${number} % 500 / 50`), "'balancer'"]
      .map((value) => `case when ${number} % 50 = 6 then ${value} end`)
      .join(", ");
  const at = (scale = 1) => `now() - make_interval(secs => ${servers * 2} - i / ${scale})`;
  const labels = `jsonb_build_object('role', (array['web', 'db', 'queue'])[1 + i % 3], 'number', (i % 1000)::text)`;
  const by = `'{"type":"user","id":null,"name":"history"}'`;
  const statements = [
    "set session_replication_role = replica",
    `insert into organisation (id, slug, name)
     select ${id("org")}, 'small-' || i, 'Small ' || i from generate_series(0, ${SMALL_ORGANISATIONS - 1}) i`,
    `insert into region (slug, name, vmid_first, vmid_last, vlan_first, vlan_last, health_ok, health_at, status_since)
     select 'many' || i, 'Many', 100000, 101000, 2, 100, true, now(), now() from generate_series(0, 3) i
     union all select 'empty', 'Empty', 100000, 101000, 2, 100, true, now(), now()`,
    `insert into agent_rollout (id, version, status, architectures, minimum_previous_version, rollback_to,
                                release_expires_at, created_at, ended_at)
     select ${id("rol")}, '1.' || i || '.0', 'done', '{x64}', '0.0.0', false, now(), ${at()}, now()
       from generate_series(0, 499) i`,
    `insert into agent_rollout_region (rollout_id, region, position, state, offered_at, ended_at, baseline)
     select ${id("rol")}, 'many' || position, position, 'updated', now(), now(), '{}'
       from generate_series(0, 499) i, generate_series(0, 3) position`,
    `insert into region_agent (region, token_id, name, version)
     select 'many' || i % 4, 'tok', 'agent-' || i, '1.0.0' from generate_series(0, 79) i`,
    `insert into network (id, organisation_id, region, name, cidr, labels, created_at)
     select ${id("net")}, ${organisation}, ${region}, 'network-' || i, '10.0.0.0/8', ${labels}, ${at()} from ${all(50)}`,
    `insert into domain (id, organisation_id, name, status, verified_by, default_ttl_seconds, verification_token, label,
                         name_servers, observed_generation, labels, created_at)
     select ${id("dom")}, ${organisation}, 'domain-' || i || '.example', 'active', 'record', 3600, 'token', 'label' || i,
            '{ns1.example.net}', 1, ${labels}, ${at()} from ${all(10)}`,
    `insert into certificate (id, organisation_id, region, name, type, domain_names, version, last_version, labels,
                              created_by, created_at)
     select ${id("cert")}, ${organisation}, ${region}, 'certificate-' || i, 'uploaded', array['host-' || i || '.example'], 1, 1,
            ${labels}, ${by}, ${at()} from ${all(10)}`,
    `insert into certificate_version (organisation_id, certificate_id, version, chain_pem, sealed_key, sealed_to, issuer,
                                      serial, key_type, names, not_before, not_after, fingerprint_sha256)
     select ${organisation}, ${id("cert")}, 1, repeat('chain', 1000), 'sealed', 'key', 'R11', '03', 'ecdsa-p256',
            array['host-' || i || '.example'], now(), now() + make_interval(days => i % 90), md5(i::text) from ${all(10)}`,
    // As many as a domain may have.
    `insert into record_set (organisation_id, domain_id, name, type, ttl_seconds, values)
     select '${largest.organisationId}', '${KNOWN.domain}', 'server-' || i, (array['A', 'TXT'])[1 + i % 2], 300,
            case i % 2 when 0 then '{192.0.2.1}' else '{"text"}' end::text[] from generate_series(0, 9999) i`,
    `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
     select ${id("sub")}, ${organisation}, ${id("net")}, ${region}, 'app', 'app', '10.0.0.0/16', '10.0.0.1', '10.0.0.2'
       from ${all(50)}`,
    `insert into server (id, organisation_id, region, name, status, power_state, image, package, labels,
                         ssh_key_ids, observed_generation, observed_at, created_at, deleted_at,
                         managed_by_type, managed_by_id, managed_by_name)
     select ${id("srv")}, ${organisation}, ${region}, 'server-' || i,
            case when i % 10 in (4, 5) then 'deleted' when i % 500 = 7 then 'error'
                 when i % 20 in (2, 3) then 'stopped' else 'running' end,
            case when i % 20 in (2, 3) then 'off' else 'on' end, 'debian-12', 's', ${labels},
            array[${id("key", "i % 100")}], 1, now(), ${at()},
            case when i % 10 in (4, 5) then now() end, ${ownedBy("i")}
       from ${all()}`,
    `insert into nic (id, organisation_id, region, server_id, subnet_id, mac)
     select ${id("nic")}, ${organisation}, ${region}, ${id("srv")}, ${subnet}, ('02' || lpad(to_hex(i), 10, '0'))::macaddr
       from ${all()} where i % 10 not in (4, 5)`,
    `insert into address (subnet_id, address, organisation_id, state, nic_id, since)
     select ${subnet}, '10.0.0.10'::inet + i, ${organisation}, 'used', ${id("nic")}, ${at()}
       from ${all()} where i % 10 not in (4, 5)`,
    `insert into address (subnet_id, address, organisation_id, state, free_after)
     select ${subnet}, '10.0.0.10'::inet + i, ${organisation}, 'quarantined', now() + interval '1 hour'
       from ${all()} where i % 100 = 4`,
    `insert into region_vmid (region, vmid, state, server_id)
     select 'many' || i % 4, 200000 + i, 'used', ${id("srv")} from ${all()} where i % 10 not in (4, 5)`,
    `insert into address_reservation (id, organisation_id, region, subnet_id, name, labels, created_at)
     select ${id("rsv")}, '${largest.organisationId}', '${largest.region}', '${largest.subnetId}', 'reserved-' || i,
            ${labels}, ${at()} from ${all(50)}`,
    `insert into address (subnet_id, address, organisation_id, state, reservation_id)
     select subnet_id, '10.200.0.0'::inet + row_number() over (), organisation_id, 'reserved', id from address_reservation`,
    // Jobs in the order of their times, as they come; one of 500 failed, and few are open.
    `insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, phase, progress, attempt,
                      epoch, requested_by, request_id, created_at, started_at, finished_at, lease_until, claim_id)
     select ${id("job")}, organisation_id, region, (array['ServerCreate', 'ServerStop', 'ServerPower', 'ServerRebuild'])[1 + i % 4],
            'server', server_id, status, 'verify', 100, 1, 1, ${by}, 'req_history', at, at,
            case when status in ('succeeded', 'failed') then at end, case status when 'running' then now() end,
            case status when 'running' then 'claim-' || i end
       from (select i, ${organisation} as organisation_id, ${region} as region, ${id("srv", "i / 5")} as server_id,
                    ${at(5)} as at,
                    case when i % 500 = 7 then 'failed' when i / 5 % 1000 = 3 and i % 5 = 0 then 'queued'
                         when i / 5 % 1000 = 4 and i % 5 = 0 then 'running' else 'succeeded' end as status
               from generate_series(0, ${servers * 5} - 1) i) history`,
    `insert into audit (id, at, organisation_id, region, actor_type, actor_id, actor_name, action, resource, outcome,
                        http_status, request_id)
     select ${id("aud")}, ${at(10)}, ${organisation}, ${region}, 'user', ${id("usr", "i % 300")}, 'Person',
            (array['server.power', 'server.update', 'server.create', 'server.delete'])[1 + i % 4], ${id("srv", "i / 10")},
            case when i % 5000 = 6 then 'refused' when i % 50 = 7 then 'failed' else 'succeeded' end, 200, 'req_history'
       from generate_series(0, ${servers * 10} - 1) i`,
    `insert into usage_event (id, organisation_id, seq, kind, at, region, resource_type, resource_id, resource_name,
                              quantity, labels, managed_by_type, managed_by_id, managed_by_name)
     select ${id("use")}, ${organisation}, i + 1, (array['disk.allocated', 'server.started', 'server.stopped', 'server.resized'])[1 + i % 4],
            ${at(3)}, ${region}, 'server', ${id("srv", "i / 3")}, 'server-' || i / 3, '{"vcpu":1,"disk_gb":40}', ${labels}, ${ownedBy("(i / 3)")}
       from generate_series(0, ${servers * 3} - 1) i`,
    `insert into usage_segment (id, organisation_id, region, resource_type, resource_id, resource_name, kind, quantity,
                                labels, started_at, ended_at, opened_by, closed_by,
                                managed_by_type, managed_by_id, managed_by_name)
     select ${id("seg")}, ${organisation}, ${region}, 'server', ${id("srv", "i / 2")}, 'server-' || i / 2,
            case i % 2 when 0 then 'compute' else 'disk' end, '{"vcpu":1,"memory_mb":2048,"disk_gb":40}', ${labels},
            ${at(2)}, case i % 2 when 0 then ${at(2)} + interval '1 hour' end, ${id("use")}, case i % 2 when 0 then ${id("use")} end,
            ${ownedBy("(i / 2)")}
       from generate_series(0, ${servers * 2} - 1) i`,
    `insert into ssh_key (id, organisation_id, name, public_key, fingerprint_sha256, fingerprint_md5, type, bits, comment,
                          labels, created_at)
     select ${id("key")}, ${organisation}, 'key-' || i, 'ssh-ed25519 ' || i, 'SHA256:' || i, 'MD5:' || i, 'ed25519', 256,
            '', ${labels}, ${at()} from ${all(20)}`,
    `insert into firewall (id, organisation_id, region, name, labels, created_at)
     select ${id("fw")}, ${organisation}, ${region}, 'firewall-' || i, ${labels}, ${at()} from ${all(50)}`,
    `insert into firewall_rule (id, organisation_id, region, firewall_id, position, direction, action, protocol, priority)
     select ${id("rul")}, ${organisation}, ${region}, ${id("fw")}, 0, 'in', 'allow', 'any', 1000 from ${all(50)}`,
    `insert into firewall_peer (rule_id, position, organisation_id, region, kind)
     select ${id("rul")}, 0, ${organisation}, ${region}, 'any' from ${all(50)}`,
    `insert into firewall_attachment (id, organisation_id, region, firewall_id, server_id)
     select ${id("att")}, ${organisation}, ${region}, ${id("fw")}, ${id("srv")} from ${all(50)}`,
    `insert into gateway (id, organisation_id, region, network_id, name, labels, wanted_generation, created_at)
     select ${id("gw")}, ${organisation}, ${region}, ${id("net")}, 'gateway-' || i, ${labels}, 1, ${at()} from ${all(50)}`,
    `insert into port_forward (id, organisation_id, region, gateway_id, subnet_id, server_id, target_address, protocol,
                               listen_port, target_port, wanted_generation, created_at)
     select ${id("fwd")}, ${organisation}, ${region}, ${id("gw")}, ${id("sub")}, ${id("srv")}, '10.0.0.10', 'tcp', 443, 443,
            1, ${at()} from ${all(50)}`,
    `insert into load_balancer (id, organisation_id, region, network_id, subnet_id, name, labels, package, ha, algorithm,
                                generation, wanted_generation, observed_generation, created_at)
     select ${id("lb")}, ${organisation}, ${region}, case when ${ofLargest} then '${largest.networkId}' else ${id("net")} end,
            ${subnet}, 'balancer-' || i, ${labels}, 's', false, 'round_robin', 3, 3, 3, ${at()} from ${all(50)}`,
    `insert into load_balancer_machine (load_balancer_id, slot, organisation_id, region, server_id, observed_generation)
     select ${id("lb")}, 1, ${organisation}, ${region}, ${id("srv", "i * 50 + 6")}, 3 from ${all(50)}`,
    `insert into load_balancer_sight (load_balancer_id, slot, organisation_id, server_id, asked_at, answered_at)
     select ${id("lb")}, 1, ${organisation}, ${id("srv", "i * 50 + 6")}, now(), now() from ${all(50)}`,
    `insert into listener (id, organisation_id, load_balancer_id, protocol, port, target_port, redirect_to_https,
                           proxy_protocol, idle_timeout_seconds, allowed_cidrs, health_check, created_at)
     select ${id("lsn")}, ${organisation}, ${id("lb")}, 'tcp', 80, 80, false, 'none', 60, '{}',
            '{"protocol":"tcp","port":null,"path":null,"host":null,"expectedCodes":null,"intervalSeconds":10,"timeoutSeconds":5,"healthyThreshold":3,"unhealthyThreshold":2}',
            ${at()} from ${all(50)}`,
    `insert into load_balancer_target (id, organisation_id, region, load_balancer_id, label_selector, weight, backup, drain,
                                       created_at)
     select ${id("tgt")}, ${organisation}, ${region}, ${id("lb")}, 'role=nothing', 1, false, false, ${at()} from ${all(50)}`,
    `insert into load_balancer_traffic (load_balancer_id, listener_id, hour, organisation_id, connections, requests, bytes_in,
                                        bytes_out)
     select ${id("lb", "i % 400")}, ${id("lsn", "i % 400")}, date_trunc('hour', now()) - make_interval(hours => i / 400),
            ${organisation}, 1, 1, 1, 1 from ${all()}`,
    `insert into ip_pool (id, region, name, version, gateway, prefix_length, created_at)
     select ${id("pool")}, 'many' || i % 4, 'pool-' || i, 4, '100.64.0.1', 10, ${at()} from generate_series(0, 199) i`,
    `insert into ip_pool_range (id, pool_id, first_address, last_address)
     select ${id("rng")}, ${id("pool")}, '100.64.0.1', '100.127.255.254' from generate_series(0, 199) i`,
    `insert into public_ip (id, organisation_id, region, pool_id, version, address, labels, created_at)
     select ${id("ip")}, ${organisation}, ${region}, ${id("pool", "0")}, 4, '100.64.1.0'::inet + i, ${labels}, ${at()}
       from ${all(10)}`,
    `update public_ip set gateway_id = gateway.id from gateway
      where gateway.id = 'gw' || substr(public_ip.id, 3) and gateway.organisation_id = public_ip.organisation_id`,
    `insert into public_address (address, pool_id, range_id, state, allocated_to, public_ip_id)
     select '100.64.1.0'::inet + i, ${id("pool", "0")}, ${id("rng", "0")},
            case when i % 10 = 0 then 'used' else 'free' end, case when i % 5 = 0 then ${organisation} end,
            case when i % 10 = 0 then ${id("ip", "i / 10")} end from ${all()}`,
    `insert into app_user (id, email, name) select ${id("usr")}, 'p' || i || '@many.example', 'Person ' || i from ${all(50)}`,
    `insert into member (id, organisation_id, user_id, role, created_at)
     select ${id("mem")}, ${organisation}, ${id("usr")}, 'member', ${at()} from ${all(50)}`,
    `insert into invitation (id, organisation_id, email, email_key, role, secret_hash, actor_type, created_at, expires_at)
     select ${id("inv")}, ${organisation}, 'i' || i || '@many.example', 'i' || i || '@many.example', 'member', 'x', 'user',
            ${at()}, now() + interval '1 day' from ${all(50)}`,
    `insert into token (id, kind, organisation_id, name, role, secret_hash, created_at)
     select ${id("tok")}, 'organisation', ${organisation}, 'token-' || i, 'viewer', 'x', ${at()} from ${all(50)}`,
    `insert into drift (id, region, vmid, kind, node, message, sightings, pass, first_seen_at, last_seen_at)
     select ${id("drf")}, 'many' || i % 4, 300000 + i, 'foreign', 'pve1', 'A VM without a server', 3, 1, ${at()}, now()
       from ${all(20)}`,
    `insert into held_vm (id, region, vmid, pass, first_seen_at, held)
     select ${id("hvm")}, 'many' || i % 4, 300000 + i, 1, ${at()},
            jsonb_build_array(jsonb_build_object('kind', 'vmid', 'value', (300000 + i)::text, 'subnetId', null, 'holder', null)) from ${all(20)}`,
    `insert into restore (id, moment, epoch_floor, summary) select 'rst_many', now(), 1,
            '{"jobs_ended":0,"jobs_kept":0,"sessions_ended":0,"codes_ended":0,"tokens_valid":0}'`,
    `insert into console_session (id, organisation_id, region, server_id, type, state, token_id, token_kind, subject, actor,
                                  on_behalf, request_id, ticket_expires_at, created_at, closed_at)
     select ${id("con")}, ${organisation}, ${region}, ${id("srv")}, 'serial', 'closed', 'tok', 'session', 'user', ${by}, false,
            'req_history', now(), ${at()}, now() from ${all(10)}`,
    "reset session_replication_role",
    "select kule_recount_quotas(id) from organisation",
    "select kule_recount_public_addresses(id) from ip_pool",
    "select kule_balance_usage(id) from organisation",
    // Those of servers that were there before are noted already.
    "insert into ssh_key_use select * from ssh_key_use_due on conflict do nothing",
    "vacuum analyze",
  ];
  for (const statement of statements) await owner.query(statement);
}
