/**
 * What is seen of running console sessions, and that a right which ends is heard of by who holds their sockets.
 *
 * Without the announcements a member who lost the role, a suspended organisation or a locked server would keep its
 * consoles until the next look, which is seconds away.
 */
export const consoleActivity = `
-- When a person last did something; the process that holds the browser's socket notes it every few seconds.
alter table console_session add column last_input_at timestamptz;

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
