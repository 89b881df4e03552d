/**
 * Every query that names no organisation, by its reason: the exemptions from the tenant guard. The list may only
 * shrink; a new entry needs a reviewer who is convinced that no organisation's data can come out of it.
 */
export const systemQueries: readonly string[] = [
  "agent/end-attempt.ts: an audit row for operators",
  "agent/routes.ts: an agent's job is found by its region",
  "commands/seed.ts: seeding ends the tokens of the seeding before",
  "platform/audit.ts: the audit trail holds rows of no organisation too",
  "platform/caller.ts: a token says itself which organisation it is of",
  "platform/idempotency.ts: idempotency keys of callers without an organisation",
  "platform/token-cache.ts: a token's use is noted by its id",
  "products/identity/audit-store.ts: operators see the whole audit trail",
  "products/identity/member-store.ts: a login finds the organisations of its user",
  "products/identity/token-store.ts: a token that was found by its owner is ended by its id",
  "products/identity/token-store.ts: agent and operator tokens are of no organisation",
  "products/ip-pools/store.ts: operators see who has a pool's addresses",
  "products/regions/pools.ts: a region's VLANs are of all organisations",
  "products/regions/store.ts: operators say which organisations see a region",
  "products/regions/store.ts: operators see how many jobs a region has",
  "worker/clean-up.ts: the clean-up is of no one organisation",
  "worker/expire-removal-buffer.ts: the sweep looks into all removal buffers",
  "worker/reap-leases.ts: the reaper looks after the jobs of all",
];
