import { isolateTenants } from "../tenant-isolation.ts";

/** Which servers were given which SSH keys, kept by triggers of the servers. */
export const sshKeyUse = `
-- One row for each key of a server that is not deleted: finds the servers of a key without reading all servers of the
-- organisation. \`server.ssh_key_ids\` is what was asked for, and stays when a key is deleted; so no reference to the key.
create table ssh_key_use (
  organisation_id text not null,
  ssh_key_id text not null,
  -- The server's, for the order.
  created_at timestamptz not null,
  server_id text not null,
  primary key (organisation_id, ssh_key_id, created_at, server_id),
  foreign key (organisation_id, server_id) references server (organisation_id, id)
);
grant select on ssh_key_use to kule_api;
${isolateTenants("ssh_key_use")}

/* The rows of ssh_key_use as the servers say. */
create view ssh_key_use_due with (security_invoker = true) as
  select distinct s.organisation_id, key.id as ssh_key_id, s.created_at, s.id as server_id
    from server s, unnest(s.ssh_key_ids) as key (id) where s.deleted_at is null;

create function kule_note_ssh_key_use() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    delete from ssh_key_use
     where organisation_id = old.organisation_id and ssh_key_id = any (old.ssh_key_ids) and created_at = old.created_at
       and server_id = old.id;
  end if;
  if new.deleted_at is null then
    insert into ssh_key_use (organisation_id, ssh_key_id, created_at, server_id)
      select distinct new.organisation_id, key.id, new.created_at, new.id from unnest(new.ssh_key_ids) as key (id);
  end if;
  return null;
end $$;
create trigger server_ssh_keys_insert after insert on server for each row
  when (new.ssh_key_ids <> '{}') execute function kule_note_ssh_key_use();
create trigger server_ssh_keys_update after update on server for each row
  when ((old.ssh_key_ids <> '{}' or new.ssh_key_ids <> '{}')
    and (old.ssh_key_ids, old.deleted_at is null) is distinct from (new.ssh_key_ids, new.deleted_at is null))
  execute function kule_note_ssh_key_use();
`;
