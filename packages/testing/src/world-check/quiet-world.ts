/**
 * A quiet world, as SQL: servers that run, are in transition, are being stopped for removal and are gone,
 * with everything that belongs to them. No check finds anything in it.
 */
export const quietWorld = `
insert into organisation (id, slug, name, usage_seq) values ('org_a', 'a', 'A', 7), ('org_b', 'b', 'B', 4);
insert into app_user (id, email, name, password_hash) values ('usr_1', 'one@example.org', 'One', 'x');
insert into user_totp (user_id, sealed_secret, confirmed_at) values ('usr_1', 'v1.x', now());
insert into recovery_code (user_id, code_hash) values ('usr_1', 'one'), ('usr_1', 'two');
insert into passkey (id, user_id, name, credential, public_key, sign_count, transports, is_synced) values
  ('psk_1', 'usr_1', 'phone', 'c', 'k', 1, '{}', false);
insert into user_identity (id, user_id, issuer, subject) values ('idn_1', 'usr_1', 'https://id.example', 'one');
insert into spent_challenge (hash) values ('one');
insert into member (id, organisation_id, user_id, role) values ('mem_1', 'org_a', 'usr_1', 'owner');
insert into invitation (id, organisation_id, email, email_key, role, secret_hash, actor_type, invited_by_user_id, expires_at) values
  ('inv_1', 'org_a', 'two@example.org', 'two@example.org', 'viewer', '\\x00', 'user', 'usr_1', now() + interval '1 day');
insert into ssh_key (id, organisation_id, name, public_key, fingerprint_sha256, fingerprint_md5, type, bits, comment) values
  ('key_1', 'org_a', 'k', 'ssh-ed25519 AAAA', 'sha', 'md5', 'ed25519', 256, '');
insert into region (slug, name, vmid_first, vmid_last, vlan_first, vlan_last, health_ok, health_at, status_since) values
  ('r1', 'R1', 100, 110, 100, 110, true, now(), now() - interval '1 day'),
  ('r2', 'R2', 100, 110, 100, 110, true, now(), now() - interval '1 day'),
  ('r3', 'R3', 100, 110, 100, 110, true, now(), now() - interval '1 day');
insert into region_vmid (region, vmid) select r, v from unnest(array['r1', 'r2', 'r3']) r, generate_series(100, 110) v;
insert into region_vlan (region, vlan) select r, v from unnest(array['r1', 'r2', 'r3']) r, generate_series(100, 110) v;
insert into network (id, organisation_id, region, name, cidr, is_default) values
  ('net_a', 'org_a', 'r1', 'n', '10.0.0.0/16', true), ('net_b', 'org_b', 'r1', 'n', '10.0.0.0/16', false),
  ('net_r2', 'org_a', 'r2', 'n', '10.0.0.0/16', false), ('net_r3', 'org_a', 'r3', 'n', '10.0.0.0/16', false);
insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint) values
  ('sub_a', 'org_a', 'net_a', 'r1', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.4'),
  ('sub_b', 'org_b', 'net_b', 'r1', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.4'),
  ('sub_r2', 'org_a', 'net_r2', 'r2', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.2'),
  ('sub_r3', 'org_a', 'net_r3', 'r3', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.4');
update region_vlan set subnet_id = 'sub_a' where region = 'r1' and vlan = 100;
update region_vlan set subnet_id = 'sub_b' where region = 'r1' and vlan = 101;
update region_vlan set subnet_id = 'sub_r2' where region = 'r2' and vlan = 100;
update region_vlan set subnet_id = 'sub_r3' where region = 'r3' and vlan = 100;
insert into server (id, organisation_id, region, name, status, power_state, image, package, observed_generation, purge_at, restores_to, deleted_at) values
  ('srv_run', 'org_a', 'r1', 'run', 'running', 'on', 'debian-12', 's', 1, null, null, null),
  ('srv_new', 'org_a', 'r1', 'new', 'creating', 'unknown', 'debian-12', 's', 0, null, null, null),
  ('srv_out', 'org_b', 'r1', 'out', 'pending_deletion', 'off', 'debian-12', 's', 0, now() + interval '1 day', 'error', null),
  ('srv_stop', 'org_b', 'r1', 'stop', 'pending_deletion', 'unknown', 'debian-12', 's', 0, now() + interval '1 day', 'error', null),
  ('srv_gone', 'org_b', 'r1', 'gone', 'deleted', 'off', 'debian-12', 's', 0, now() - interval '1 hour', 'running', now());
update server set ssh_key_ids = '{key_1}' where id = 'srv_new';
update region_vmid set state = 'used', server_id = 'srv_run' where region = 'r1' and vmid = 100;
update region_vmid set state = 'used', server_id = 'srv_new' where region = 'r1' and vmid = 101;
update region_vmid set state = 'used', server_id = 'srv_out' where region = 'r1' and vmid = 102;
update region_vmid set state = 'tombstone', server_id = 'srv_gone', free_after = now() + interval '1 day' where region = 'r1' and vmid = 103;
update region_vmid set state = 'used', server_id = 'srv_stop' where region = 'r1' and vmid = 104;
insert into nic (id, organisation_id, region, server_id, subnet_id, mac) values
  ('nic_run', 'org_a', 'r1', 'srv_run', 'sub_a', '0a:4b:75:00:00:64'),
  ('nic_new', 'org_a', 'r1', 'srv_new', 'sub_a', '0a:4b:75:00:00:65'),
  ('nic_out', 'org_b', 'r1', 'srv_out', 'sub_b', '0a:4b:75:00:00:66'),
  ('nic_stop', 'org_b', 'r1', 'srv_stop', 'sub_b', '0a:4b:75:00:00:68');
insert into address (subnet_id, address, organisation_id, state)
  select u.id, kept, u.organisation_id, 'reserved' from subnet u, unnest(array['10.0.1.0', '10.0.1.1', '10.0.1.255']::inet[]) kept;
insert into address (subnet_id, address, organisation_id, state, nic_id) values
  ('sub_a', '10.0.1.2', 'org_a', 'used', 'nic_run'), ('sub_a', '10.0.1.3', 'org_a', 'used', 'nic_new'),
  ('sub_b', '10.0.1.2', 'org_b', 'used', 'nic_out'), ('sub_b', '10.0.1.3', 'org_b', 'used', 'nic_stop');
insert into address_reservation (id, organisation_id, region, subnet_id, name) values
  ('rsv_a', 'org_a', 'r1', 'sub_a', 'v'), ('rsv_b', 'org_b', 'r1', 'sub_b', 'v');
insert into address (subnet_id, address, organisation_id, state, free_after, reservation_id) values
  ('sub_a', '10.0.1.40', 'org_a', 'reserved', null, 'rsv_a'), ('sub_b', '10.0.1.40', 'org_b', 'quarantined', now(), 'rsv_b');
insert into firewall (id, organisation_id, region, name) values
  ('fw_a', 'org_a', 'r1', 'f'), ('fw_b', 'org_b', 'r1', 'f');
insert into firewall_rule (id, organisation_id, region, firewall_id, position, direction, action, protocol, priority) values
  ('fwr_a', 'org_a', 'r1', 'fw_a', 0, 'in', 'allow', 'tcp', 1000);
insert into firewall_peer (rule_id, position, organisation_id, region, kind, subnet_id, network_id, peer_firewall_id) values
  ('fwr_a', 0, 'org_a', 'r1', 'subnet', 'sub_a', null, null), ('fwr_a', 1, 'org_a', 'r1', 'network', null, 'net_a', null),
  ('fwr_a', 2, 'org_a', 'r1', 'firewall', null, null, 'fw_a');
insert into firewall_attachment (id, organisation_id, region, firewall_id, server_id, subnet_id, label_selector) values
  ('fwa_srv', 'org_a', 'r1', 'fw_a', 'srv_run', null, null), ('fwa_sub', 'org_a', 'r1', 'fw_a', null, 'sub_a', null),
  ('fwa_lab', 'org_b', 'r1', 'fw_b', null, null, 'role=web');
update server set filter_wanted = 'flt_1', filter_applied = 'flt_1' where id = 'srv_run';
insert into ip_pool (id, region, name, version, gateway, prefix_length) values ('pool_1', 'r1', 'p', 4, '203.0.113.1', 29), ('pool_2', 'r1', 'q', 4, '198.51.100.1', 29);
insert into ip_pool_range (id, pool_id, first_address, last_address) values ('rng_1', 'pool_1', '203.0.113.0', '203.0.113.7'), ('rng_2', 'pool_2', '198.51.100.2', '198.51.100.3');
insert into public_ip (id, organisation_id, region, pool_id, version, address, server_id, held_by, is_applied) values
  ('ip_run', 'org_a', 'r1', 'pool_1', 4, '203.0.113.2', 'srv_run', 'srv_run', true),
  ('ip_new', 'org_a', 'r1', 'pool_1', 4, '203.0.113.3', 'srv_new', 'srv_new', false),
  ('ip_out', 'org_b', 'r1', 'pool_1', 4, '203.0.113.4', null, 'srv_stop', false);
insert into gateway (id, organisation_id, region, network_id, name, wanted_generation, observed_generation) values
  ('gw_a', 'org_a', 'r1', 'net_a', 'g', 1, 1), ('gw_b', 'org_b', 'r1', 'net_b', 'g', 1, 1);
insert into gateway_subnet (subnet_id, organisation_id, network_id, gateway_id, tier, wanted_generation, is_applied) values
  ('sub_a', 'org_a', 'net_a', 'gw_a', 'app', 1, true), ('sub_b', 'org_b', 'net_b', 'gw_b', 'app', 1, true);
insert into port_forward (id, organisation_id, region, gateway_id, subnet_id, server_id, target_address, protocol, listen_port, target_port, wanted_generation, is_applied) values
  ('pf_a', 'org_a', 'r1', 'gw_a', 'sub_a', 'srv_run', '10.0.1.2', 'tcp', 443, 8443, 1, true);
insert into public_ip (id, organisation_id, region, pool_id, version, address, gateway_id) values
  ('ip_gwa', 'org_a', 'r1', 'pool_2', 4, '198.51.100.2', 'gw_a'), ('ip_gwb', 'org_b', 'r1', 'pool_2', 4, '198.51.100.3', 'gw_b');
insert into public_address (address, pool_id, range_id, state, allocated_to, public_ip_id, free_after) values
  ('203.0.113.0', 'pool_1', 'rng_1', 'reserved', null, null, null),
  ('203.0.113.1', 'pool_1', 'rng_1', 'reserved', null, null, null),
  ('203.0.113.2', 'pool_1', 'rng_1', 'used', 'org_a', 'ip_run', null),
  ('203.0.113.3', 'pool_1', 'rng_1', 'used', 'org_a', 'ip_new', null),
  ('203.0.113.4', 'pool_1', 'rng_1', 'used', 'org_b', 'ip_out', null),
  ('203.0.113.5', 'pool_1', 'rng_1', 'free', 'org_a', null, null),
  ('203.0.113.6', 'pool_1', 'rng_1', 'quarantined', null, null, now() + interval '1 minute'),
  ('203.0.113.7', 'pool_1', 'rng_1', 'reserved', null, null, null),
  ('198.51.100.2', 'pool_2', 'rng_2', 'used', 'org_a', 'ip_gwa', null),
  ('198.51.100.3', 'pool_2', 'rng_2', 'used', 'org_b', 'ip_gwb', null);
insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, epoch, attempt, last_seq, claim_id, finished_at, lease_until, requested_by, request_id, created_at) values
  ('job_run', 'org_a', 'r1', 'ServerCreate', 'server', 'srv_run', 'succeeded', 2, 2, 1, 'c1', now(), null, '{}', 'req_1', now()),
  ('job_gone', 'org_b', 'r1', 'ServerDestroy', 'server', 'srv_gone', 'succeeded', 1, 1, 1, 'c2', now(), null, '{}', 'req_2', now()),
  ('job_new', 'org_a', 'r1', 'ServerCreate', 'server', 'srv_new', 'queued', 0, 0, 0, null, null, null, '{}', 'req_3', now()),
  ('job_stop', 'org_b', 'r1', 'ServerStop', 'server', 'srv_stop', 'queued', 0, 0, 0, null, null, null, '{}', 'req_4', now());
select kule_queue_add('job_new'), kule_queue_add('job_stop');
update job set status = 'running', epoch = 1, attempt = 1, last_seq = 1, claim_id = 'c3', lease_until = now() + interval '1 minute' where id = 'job_stop';
select kule_queue_lock('job_stop', 1);
update server set status_job_id = 'job_stop' where id = 'srv_stop';
update gateway set status_job_id = 'job_run' where id = 'gw_a';
insert into domain (id, organisation_id, name, status, verified_by, default_ttl_seconds, verification_token, label, name_servers, generation, observed_generation, status_job_id) values
  ('dom_a', 'org_a', 'a.example', 'active', 'record', 3600, 't', 'la', '{ns1.example.net}', 3, 3, 'job_run'),
  ('dom_b', 'org_b', 'b.example', 'active', 'record', 3600, 't', 'lb', '{ns1.example.net}', 1, 1, null);
insert into record_set (organisation_id, domain_id, name, type, ttl_seconds, values, server_id) values
  ('org_a', 'dom_a', 'www', 'A', 300, '{auto:srv_run}', 'srv_run'), ('org_a', 'dom_a', '@', 'A', 300, '{192.0.2.1}', null),
  ('org_b', 'dom_b', 'www', 'A', 300, '{192.0.2.1}', null);
insert into certificate (id, organisation_id, region, name, type, domain_names, version, last_version, created_by) values
  ('cert_a', 'org_a', 'r1', 'www', 'uploaded', '{www.a.example}', 1, 1, '{}'), ('cert_b', 'org_b', 'r1', 'www', 'uploaded', '{www.b.example}', 1, 1, '{}');
insert into certificate_version (organisation_id, certificate_id, version, chain_pem, sealed_key, sealed_to, issuer, serial, key_type, names, not_before, not_after, fingerprint_sha256) values
  ('org_a', 'cert_a', 1, 'chain', 'sealed', 'key', 'R11', '01', 'ecdsa-p256', '{www.a.example}', now(), now() + interval '60 days', 'f1'),
  ('org_b', 'cert_b', 1, 'chain', 'sealed', 'key', 'R11', '02', 'ecdsa-p256', '{www.b.example}', now(), now() + interval '60 days', 'f2');
insert into certificate_order (organisation_id, certificate_id, version) values ('org_a', 'cert_a', 2);
insert into domain_challenge (organisation_id, domain_id, certificate_id, name, value) values ('org_a', 'dom_a', 'cert_a', '_acme-challenge', 'x');
insert into server (id, organisation_id, region, name, status, power_state, image, package, observed_generation, managed_by_type, managed_by_id, managed_by_name) values
  ('srv_web', 'org_a', 'r3', 'web', 'running', 'on', 'debian-12', 's', 1, null, null, null),
  ('srv_slot1', 'org_a', 'r3', 'front-1', 'running', 'on', 'kule-lb', 'lb-s', 1, 'load_balancer', 'lb_a', 'front');
update region_vmid set state = 'used', server_id = 'srv_web' where region = 'r3' and vmid = 100;
update region_vmid set state = 'used', server_id = 'srv_slot1' where region = 'r3' and vmid = 101;
insert into nic (id, organisation_id, region, server_id, subnet_id, mac) values
  ('nic_web', 'org_a', 'r3', 'srv_web', 'sub_r3', '0a:4b:75:03:00:64'), ('nic_slot1', 'org_a', 'r3', 'srv_slot1', 'sub_r3', '0a:4b:75:03:00:65');
insert into ip_pool (id, region, name, version, gateway, prefix_length) values ('pool_3', 'r3', 'p', 4, '192.0.2.1', 29);
insert into ip_pool_range (id, pool_id, first_address, last_address) values ('rng_3', 'pool_3', '192.0.2.2', '192.0.2.2');
insert into public_ip (id, organisation_id, region, pool_id, version, address) values
  ('ip_lb', 'org_a', 'r3', 'pool_3', 4, '192.0.2.2');
insert into public_address (address, pool_id, range_id, state, allocated_to, public_ip_id) values
  ('192.0.2.2', 'pool_3', 'rng_3', 'used', 'org_a', 'ip_lb');
insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, epoch, attempt, last_seq, claim_id, finished_at, requested_by, request_id) values
  ('job_lb', 'org_a', 'r3', 'LoadBalancerApply', 'load_balancer', 'lb_a', 'failed', 1, 1, 1, 'c4', now(), '{}', 'req_5');
insert into load_balancer (id, organisation_id, region, network_id, subnet_id, name, package, ha, algorithm, vrid, public_ip_id,
                           failure, failure_job_id, resize_failure, resize_job_id, generation, wanted_generation, observed_generation) values
  ('lb_a', 'org_a', 'r3', 'net_r3', 'sub_r3', 'front', 'lb-s', true, 'round_robin', 1, 'ip_lb', 'apply_failed', 'job_lb', 'resize_failed', 'job_lb', 2, 2, 1);
update public_ip set load_balancer_id = 'lb_a' where id = 'ip_lb';
insert into address (subnet_id, address, organisation_id, state, nic_id, load_balancer_id) values
  ('sub_r3', '10.0.1.2', 'org_a', 'used', 'nic_web', null), ('sub_r3', '10.0.1.3', 'org_a', 'used', 'nic_slot1', null),
  ('sub_r3', '10.0.1.40', 'org_a', 'reserved', null, 'lb_a');
insert into load_balancer_machine (load_balancer_id, slot, organisation_id, region, server_id, observed_generation) values
  ('lb_a', 1, 'org_a', 'r3', 'srv_slot1', 1), ('lb_a', 2, 'org_a', 'r3', null, 0);
insert into listener (id, organisation_id, load_balancer_id, protocol, port, target_port, redirect_to_https, proxy_protocol, idle_timeout_seconds, allowed_cidrs, health_check) values
  ('lsn_a', 'org_a', 'lb_a', 'https', 443, 8080, false, 'none', 60, '{}', '{}');
insert into certificate (id, organisation_id, region, name, type, domain_names, version, last_version, created_by) values
  ('cert_lb', 'org_a', 'r3', 'front', 'uploaded', '{front.a.example}', 1, 1, '{}');
insert into certificate_version (organisation_id, certificate_id, version, chain_pem, sealed_key, sealed_to, issuer, serial, key_type, names, not_before, not_after, fingerprint_sha256) values
  ('org_a', 'cert_lb', 1, 'chain', 'sealed', 'key', 'R11', '03', 'ecdsa-p256', '{front.a.example}', now(), now() + interval '60 days', 'f3');
insert into listener_certificate (listener_id, certificate_id, organisation_id, region, load_balancer_id, position) values
  ('lsn_a', 'cert_lb', 'org_a', 'r3', 'lb_a', 0);
insert into load_balancer_target (id, organisation_id, region, load_balancer_id, server_id, label_selector, address, weight, backup, drain) values
  ('tgt_a', 'org_a', 'r3', 'lb_a', 'srv_web', null, null, 1, false, false), ('tgt_b', 'org_a', 'r3', 'lb_a', null, 'role=web', null, 1, false, false),
  ('tgt_c', 'org_a', 'r3', 'lb_a', null, null, '10.0.1.9', 1, false, false);
insert into load_balancer_sight (load_balancer_id, slot, organisation_id, server_id, asked_at) values ('lb_a', 1, 'org_a', 'srv_slot1', now());
insert into load_balancer_traffic (load_balancer_id, listener_id, hour, organisation_id, connections, requests, bytes_in, bytes_out) values
  ('lb_a', 'lsn_a', date_trunc('hour', now()), 'org_a', 1, 1, 1, 1);
update network set status_job_id = 'job_stop' where id = 'net_b';
insert into console_session (id, organisation_id, region, server_id, type, state, token_id, token_kind, subject, actor, on_behalf, request_id, ticket_expires_at, replica_id, claim_id) values
  ('con_1', 'org_a', 'r1', 'srv_run', 'serial', 'open', 'tok_1', 'organisation', 'tok_1', '{}', false, 'req_1', now(), 'rep_1', 'c9');
insert into region_inventory (region, pass) values ('r1', 3);
insert into region_vm (region, vmid, pass, looked_at, state) values ('r1', 100, 3, now(), 'seen');
insert into region_growth (region, server_id, node, vcpu, memory_mb, disk_gb) values ('r1', 'srv_run', 'pve1', 1, 2048, 40);
insert into drift (id, region, vmid, kind, organisation_id, server_id, message, sightings, pass, first_seen_at, last_seen_at) values
  ('drf_1', 'r1', 100, 'changed', 'org_a', 'srv_run', 'm', 1, 3, now(), now());
insert into server_secret (server_id, organisation_id, password_hash) values ('srv_new', 'org_a', 'x');
insert into job_step (job_id, organisation_id, epoch, seq, attempt, phase, name, status, started_at, finished_at) values
  ('job_run', 'org_a', 1, 1, 1, 'apply', 'clone', 'failed', now() - interval '3 minutes', now() - interval '2 minutes'),
  ('job_run', 'org_a', 2, 1, 2, 'observe', 'look', 'succeeded', now() - interval '1 minute', now()),
  ('job_stop', 'org_b', 1, 1, 1, 'observe', 'look', 'running', now(), null);
insert into audit (id, actor_type, action, resource, outcome, http_status, request_id) values
  ('aud_1', 'agent', 'job.end', 'job_run', 'failed', 200, 'req_1'),
  ('aud_2', 'user', 'job.retry', 'job_run', 'refused', 409, 'req_1'),
  ('aud_3', 'user', 'job.retry', 'job_run', 'succeeded', 202, 'req_1'),
  ('aud_4', 'agent', 'job.end', 'job_run', 'succeeded', 200, 'req_1'),
  ('aud_5', 'agent', 'job.end', 'job_gone', 'succeeded', 200, 'req_2'),
  ('aud_6', 'agent', 'job.end', 'job_lb', 'failed', 200, 'req_5');
insert into usage_event (id, organisation_id, seq, kind, region, resource_type, resource_id, resource_name, quantity, job_id) values
  ('use_1', 'org_a', 1, 'disk.allocated', 'r1', 'server', 'srv_run', 'run', '{}', 'job_run'),
  ('use_2', 'org_a', 2, 'server.started', 'r1', 'server', 'srv_run', 'run', '{}', 'job_run'),
  ('use_3', 'org_b', 1, 'server.purge_scheduled', 'r1', 'server', 'srv_stop', 'stop', '{}', 'job_stop'),
  ('use_4', 'org_b', 2, 'server.purged', 'r1', 'server', 'srv_gone', 'gone', '{}', 'job_gone'),
  ('use_5', 'org_b', 3, 'public_ip.allocated', 'r1', 'public_ip', 'pip_gone', 'gone', '{}', null),
  ('use_6', 'org_b', 4, 'public_ip.released', 'r1', 'public_ip', 'pip_gone', 'gone', '{}', null),
  ('use_8', 'org_a', 4, 'disk.allocated', 'r3', 'server', 'srv_web', 'web', '{}', null),
  ('use_9', 'org_a', 5, 'server.started', 'r3', 'server', 'srv_web', 'web', '{}', null),
  ('use_10', 'org_a', 6, 'disk.allocated', 'r3', 'server', 'srv_slot1', 'front-1', '{}', null),
  ('use_11', 'org_a', 7, 'server.started', 'r3', 'server', 'srv_slot1', 'front-1', '{}', null);
insert into usage_event (id, organisation_id, seq, kind, region, resource_type, resource_id, resource_name, quantity,
                         source, corrects) values
  ('use_7', 'org_a', 3, 'usage.corrected', 'r1', 'server', 'srv_run', 'run', '{}', 'correction', 'seg_1_disk');
`;
