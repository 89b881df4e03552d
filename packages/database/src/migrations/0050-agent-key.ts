/**
 * The key that secrets for a region are sealed to stays the first one that an agent told; another one waits for an
 * operator, with the token that it came with.
 */
export const agentKey = `
alter table region
  add column agent_key_since timestamptz,
  add column agent_key_seen_at timestamptz,
  add column pending_agent_key text,
  add column pending_agent_key_since timestamptz,
  add column pending_agent_key_seen_at timestamptz,
  add column pending_agent_key_token text,
  add column pending_agent_key_agent text,
  add constraint region_pending_agent_key check (
    pending_agent_key is null
    or pending_agent_key <> agent_public_key
       and pending_agent_key_since is not null and pending_agent_key_seen_at is not null);
`;
