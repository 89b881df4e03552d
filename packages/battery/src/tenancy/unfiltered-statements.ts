/**
 * Uses of tables of organisations that name none, as Postgres sees them, each with why. The list may only shrink: what
 * is not on it is a violation, and so is what is on it and was not seen.
 */
export const unfilteredUses: { readonly [use: string]: string } = {
  "delete idempotency_key by created_at": "the clean-up is of no one organisation",
  "delete region_organisation by region": "operators say which organisations see a region",
  "select address by id, nic_id, position, server_id, state, subnet_id in a function":
    "the check at commit looks at the one server whose rows changed",
  "select audit by ": "operators see the whole audit trail",
  "delete load_balancer_traffic by days, hour": "the clean-up is of no one organisation",
  "select load_balancer_traffic by hour, is_metered, mins": "the worker measures the load balancers of all",
  "select load_balancer_machine by region, server_id":
    "an agent asks the machines of all organisations in its region",
  "select load_balancer_machine by id, is_deleting, load_balancer_id, observed_generation, organisation_id, region, server_id, slot, state, status":
    "an agent asks the machines of all organisations in its region",
  "select load_balancer by id, is_deleting, load_balancer_id, observed_generation, organisation_id, region, server_id, slot, state, status":
    "an agent asks the machines of all organisations in its region",
  "select server by id, is_deleting, load_balancer_id, observed_generation, organisation_id, region, server_id, slot, state, status":
    "an agent asks the machines of all organisations in its region",
  "select load_balancer_sight by implausible_at, load_balancer_id, organisation_id, region, slot":
    "operators see what a region says that cannot be",
  "select load_balancer_machine by implausible_at, load_balancer_id, organisation_id, region, slot":
    "operators see what a region says that cannot be",
  "select load_balancer by id": "the worker looks after the load balancers of all",
  "select certificate_order by step_at": "the worker looks after the certificates of all",
  "select certificate_version by certificate_id, days, id, not_after, organisation_id, warned_days":
    "the worker looks after the certificates of all",
  "select certificate by certificate_id, days, id, not_after, organisation_id, warned_days":
    "the worker looks after the certificates of all",
  "delete invitation by expires_at": "the clean-up is of no one organisation",
  "select quota_count by ": "the clean-up is of no one organisation",
  "select invitation by id, organisation_id":
    "who was invited belongs to no organisation yet, and shows its secret",
  "select job by created_at, kind, offered_at, region, slug":
    "a rollout of agents watches the jobs of the regions that it updates",
  "select server by deleted_at, region, slug": "a rollout of agents begins where the fewest servers are",
  "select job by id, organisation_id": "operators see the jobs of all organisations",
  "select job by id, organisation_id, region": "operators see the jobs of all organisations",
  "select job by created_at, id, organisation_id": "operators see the jobs of all organisations",
  "select job by attempt, kind, lease_until, max_attempts, p_capabilities, p_region, region, status in a function":
    "a claim is of a region",
  "select job by claim_id, p_claim_id, p_region, region, status in a function": "a claim is of a region",
  "select domain by is_verified, reversed_name in a function":
    "a name, its parents and names inside have one owner",
  "select domain by name, status in a function": "a name, its parents and names inside have one owner",
  "update domain by domain_id, id, organisation_id in a function":
    "the trigger counts the record sets that were changed",
  "select job by attempt, kind, lease_until, max_attempts, p_capabilities, region, status in a function":
    "the control plane does its own jobs, of all organisations",
  "select job by claim_id, p_claim_id, region, status in a function":
    "the control plane does its own jobs, of all organisations",
  "select job by created_at, kind, p_capabilities, region, run_at, status, v_restored_at in a function":
    "the control plane does its own jobs, of all organisations",
  "select domain by id, resource_id, status in a function":
    "a claim looks at the one domain of a job that removes a zone",
  "select drift by kind, region, sightings, slug": "operators see what differs after a restore",
  "select server by deletion_requested_at, region, restored_at, slug, status":
    "operators see what waits for the end of a restore",
  "select job by created_at, kind, region, restored_at, slug, status":
    "operators see what waits for the end of a restore",
  "select job by id, p_job_id in a function": "the queue's functions take a job by its id",
  "select job by id, p_job_id, status in a function": "the queue's functions take a job by its id",
  "select job by id, region": "an agent's job is found by its region",
  "select job by id, v_id in a function": "a claim is of a region",
  "select job by created_at, kind, p_capabilities, p_region, region, run_at, status, v_restored_at in a function":
    "a claim is of a region",
  "select job by lease_until, status": "the reaper looks after the jobs of all",
  "select job by region, slug, status": "operators see how many jobs a region has",
  "select job by kind, region": "operators see the jobs of all organisations",
  "select job by id, organisation_id, since": "operators see which jobs of all organisations do not go on",
  "select job by lease_until, region, status": "operators see which jobs of all organisations do not go on",
  "select job by id, lease_until, status": "operators see which jobs of all organisations do not go on",
  "select job by attempt, lease_until, status": "operators see which jobs of all organisations do not go on",
  "select job by attempt, lease_until, region, status":
    "operators see which jobs of all organisations do not go on",
  "select job by attempt, created_at, id, lease_until, status":
    "operators see which jobs of all organisations do not go on",
  "select job by attempt, run_at, status": "operators see which jobs of all organisations do not go on",
  "select job by attempt, region, run_at, status":
    "operators see which jobs of all organisations do not go on",
  "select job by attempt, id, run_at, status": "operators see which jobs of all organisations do not go on",
  "select job by attempt, lease_until, started_at, status":
    "operators see which jobs of all organisations do not go on",
  "select job by attempt, lease_until, region, started_at, status":
    "operators see which jobs of all organisations do not go on",
  "select job by attempt, id, lease_until, started_at, status":
    "operators see which jobs of all organisations do not go on",
  "select job by finished_at, region, resource_type, status":
    "operators see which jobs of all organisations ended badly",
  "select job by finished_at, id, resource_type, status":
    "operators see which jobs of all organisations ended badly",
  "select job by finished_at, resource_type, status":
    "operators see which jobs of all organisations ended badly",
  "select job by resource_id, status in a function": "a claim is of a region",
  "select member by id, kind, organisation_id, revoked_at, user_id":
    "a token says itself which organisation it is of",
  "select member by id, organisation_id, user_id": "a login finds the organisations of its user",
  "select network by id, region, slug": "operators see which namespaces on an edge are of no network",
  "select network by error, id, on_edge, region, status, status_code, status_job_id":
    "an edge that is back is told of all networks that wait for it",
  "select job by error, id, on_edge, region, status, status_code, status_job_id":
    "an edge that is back is told of all networks that wait for it",
  "select job by has_edge, kind, region, run_at, secs, slug, status":
    "a region that has no edge any more has its jobs of networks ended",
  "select network by on_edge, region": "a region that gets an edge has all of its networks brought there",
  "select nic by id, nic_id, position, server_id, state, subnet_id in a function":
    "the check at commit looks at the one server whose rows changed",
  "select nic by id, server_id in a function":
    "the check at commit looks at the one server whose rows changed",
  "select region_organisation by region, slug": "operators see which organisations see a region",
  "select server by id in a function": "the check at commit looks at the one server whose rows changed",
  "select member by created_at, expires_at, id, identity_id, idle_seconds, is_operator, kind, last_used_at, organisation_id, revoked_at, secs, user_id":
    "a person's sessions are of all of their organisations",
  "select token by created_at, expires_at, id, identity_id, idle_seconds, is_operator, kind, last_used_at, organisation_id, revoked_at, secs, user_id":
    "a person's sessions are of all of their organisations",
  "select token by created_at, id, kind, region": "agent and operator tokens are of no organisation",
  "select token by id, kind, organisation_id, revoked_at, user_id":
    "a token says itself which organisation it is of",
  "select token by id, proven_at, revoked_at, secs": "a session is found by its own id",
  "select token by id": "agent and operator tokens are of no organisation",
  "select token by expires_at, id, is_operator, kind, minter_id, minter_secret, revoked_at, secret_hash, user_id in a function":
    "an operator's token is made for who shows the secret of one",
  "insert token by  in a function": "an operator's token is of no organisation",
  "select token by created_at, expires_at, id, idle_seconds, kind, last_used_at, proof, revoked_at, secret_hash, secs in a function":
    "a session's secret is the proof of its person, whatever organisation it is in",
  "select token by id, kind, region": "agent and operator tokens are of no organisation",
  "select token by kind, region": "agent and operator tokens are of no organisation",
  "select public_ip by pool_id, region, version in a function":
    "a pool's key is compared with the addresses that point to it",
  "delete console_session by closed_at": "the clean-up is of no one organisation",
  "select server by locked_at, purge_at, region, restore_ended_at, restored_at, slug, status":
    "the sweep looks into all removal buffers",
  "select server by id, region, status": "an agent looks at the servers of all organisations in its region",
  "select drift by sightings": "operators see where regions differ from the records",
  "select drift by region, sightings": "operators see where regions differ from the records",
  "select drift by first_seen_at, id, sightings": "operators see where regions differ from the records",
  "select server by held_by, id, server_id, status in a function":
    "the check at commit looks at the one address whose rows changed",
  "select nic by id, server_id, subnet_id, tier in a function":
    "the check at commit looks at the one address whose rows changed",
  "select subnet by id, server_id, subnet_id, tier in a function":
    "the check at commit looks at the one address whose rows changed",
  "select server by id, server_id, status in a function":
    "the check at commit looks at the one address whose rows changed",
  "select server by held_by, id, status in a function":
    "the check at commit looks at the one address whose rows changed",
  "select public_ip by id in a function": "the check at commit looks at the one address whose rows changed",
  "select public_ip by allocated_to, id, pool_id, public_ip_id": "operators see who has a pool's addresses",
  "select server by complete_pass, id, observed_generation, organisation_id, pass, region, server_id, state, status, vmid":
    "an agent looks at the servers of all organisations in its region",
  "update console_session by replica_id, state, ticket_expires_at": "the clean-up is of no one organisation",
  "update job by id, v_id in a function": "a claim is of a region",
  "update token by created_at, expires_at, id, identity_id, idle_seconds, kind, last_used_at, revoked_at, secs, user_id":
    "a person's sessions are of all of their organisations",
  "update token by identity_id in a function": "a session forgets the account at a provider that is unlinked",
  "update token by id": "a token that was found by its owner is ended by its id",
  "update token by id, last_used_at": "a token's use is noted by its id",
  "update token by id, revoked_at": "a token that was found by its owner is ended by its id",
};
