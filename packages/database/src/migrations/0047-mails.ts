/** Mails that the control plane's worker sends: one after the other, so that a slow mail server holds up no other task. */
export const mails = `
-- The same key replaces what waits. With graphile's pauses twelve tries are about a day.
create function kule_mail_add(p_task text, p_payload json, p_key text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if p_task not in ('mail_password_reset') then
    raise exception 'task % is not a mail that the API may add', p_task;
  end if;
  perform graphile_worker.add_job(p_task, p_payload, queue_name => 'mail', job_key => p_key, max_attempts => 12);
end $$;
revoke all on function kule_mail_add(text, json, text) from public;
grant execute on function kule_mail_add(text, json, text) to kule_api;
`;
