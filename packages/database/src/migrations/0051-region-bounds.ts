/**
 * What a region reports is bounded: a job counts its steps. And what it made the usage say wrongly can be put right:
 * an event \`usage.corrected\` gives a segment another quantity, so that the segments go on adding up and the events
 * go on saying how they came to be.
 */
export const regionBounds = `
alter table job add column step_count integer not null default 0;

alter table usage_event
  add column corrects text,
  add column reason text,
  add constraint usage_event_corrects foreign key (organisation_id, corrects)
    references usage_segment (organisation_id, id),
  add constraint usage_event_corrected check ((kind = 'usage.corrected') = (corrects is not null));
alter table usage_event drop constraint usage_event_source_check;
alter table usage_event add constraint usage_event_source_check
  check (source in ('verify', 'reconcile', 'request', 'correction'));

create or replace function kule_usage_recorded() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.kind = 'usage.corrected' then
    update usage_segment set quantity = new.quantity
     where organisation_id = new.organisation_id and id = new.corrects and resource_id = new.resource_id;
  else
    perform kule_usage_derive(new);
  end if;
  return null;
end $$;
revoke execute on all functions in schema public from public;
`;
