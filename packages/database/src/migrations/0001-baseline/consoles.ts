import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Console sessions, and the processes of the API that hold their sockets.
 *
 * A session is not a job: it changes no infrastructure, so it neither waits for a server's job nor blocks one (ADR
 * 0013). Two API replicas and the region's agent coordinate by its row.
 */
export const consoles = `
create table replica (
  id text primary key,
  -- Where the other processes reach this one.
  address text not null,
  -- Made anew by each process: whoever relays to it shows this.
  secret text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);
grant select, insert, update, delete on replica to kule_api;

create table console_session (
  id text primary key,
  organisation_id text not null,
  region text not null,
  server_id text not null,
  type text not null check (type in ('serial', 'vnc')),
  state text not null default 'ticketed' check (state in ('ticketed', 'waiting', 'claimed', 'open', 'closed')),
  -- Whose it is: the token that asked, for as long as the session lasts, and the user behind it for the limits.
  token_id text not null,
  token_kind text not null check (token_kind in ('organisation', 'operator', 'session')),
  subject text not null,
  actor jsonb not null,
  on_behalf boolean not null,
  request_id text not null,
  source_address text,
  ticket_hash bytea,
  ticket_expires_at timestamptz not null,
  -- The process that holds the browser's socket. No reference: a row of a process that is gone goes, the session is ended.
  replica_id text,
  claim_id text,
  agent_token_id text,
  -- Somebody wants it ended: the process that holds it does that.
  end_reason text,
  bytes_in bigint not null default 0,
  bytes_out bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  redeemed_at timestamptz,
  claimed_at timestamptz,
  opened_at timestamptz,
  closed_at timestamptz,
  -- When a person last did something; the process that holds the browser's socket notes it every few seconds.
  last_input_at timestamptz,
  unique (organisation_id, id),
  foreign key (organisation_id, server_id, region) references server (organisation_id, id, region),
  check ((state = 'closed') = (closed_at is not null)),
  check ((state in ('waiting', 'claimed', 'open')) <= (replica_id is not null)),
  -- A ticket opens one socket: it is gone with that.
  check ((state = 'ticketed') = (ticket_hash is not null))
);
create index console_session_waiting on console_session (region, redeemed_at) where state = 'waiting';
create index console_session_live on console_session (organisation_id, server_id) where state <> 'closed';
create index console_session_replica on console_session (replica_id) where state <> 'closed';
create unique index console_session_claim on console_session (region, claim_id) where state in ('claimed', 'open');
create index console_session_closed on console_session (closed_at) where state = 'closed';
grant select, insert, update, delete on console_session to kule_api;
${isolateTenants("console_session")}

-- Passed on once it is committed, as what happens to jobs is: to the region's parked claims, and to who holds the socket.
create function kule_console_announce() returns trigger language plpgsql as $$
begin
  if new.state = 'waiting' and old.state <> 'waiting' then
    raise notice using errcode = 'KN003', message = 'region:' || new.region;
  end if;
  if new.end_reason is distinct from old.end_reason and new.state <> 'closed' then
    raise notice using errcode = 'KN003', message = 'session:' || new.id;
  end if;
  return null;
end $$;
create trigger console_announce after update on console_session for each row execute function kule_console_announce();

-- A right that ends is heard of by who holds the sockets. Without these announcements a member who lost the role, a
-- suspended organisation or a locked server would keep its consoles until the next look, which is seconds away.
create function kule_console_rights_announce() returns trigger language plpgsql as $$
begin
  raise notice using errcode = 'KN003', message = tg_argv[0] || ':' || (to_jsonb(old) ->> tg_argv[1]);
  return null;
end $$;
create trigger console_member_announce after update on member for each row
  when (old.role is distinct from new.role)
  execute function kule_console_rights_announce('organisation', 'organisation_id');
create trigger console_member_gone_announce after delete on member for each row
  execute function kule_console_rights_announce('organisation', 'organisation_id');
create trigger console_organisation_announce after update on organisation for each row
  when (old.status is distinct from new.status)
  execute function kule_console_rights_announce('organisation', 'id');
create trigger console_server_announce after update on server for each row
  when (old.locked_reason is distinct from new.locked_reason
        or old.status is distinct from new.status and new.status in ('pending_deletion', 'deleting', 'deleted'))
  execute function kule_console_rights_announce('server', 'id');
`;
