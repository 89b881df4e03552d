/**
 * A job that failed may be tried again, and both its ends may have something to count: a server that was switched off
 * twice, a disk that grew in two goes. What is there once is an event of a kind for each claim of a job.
 */
export const usageOnce = `
alter table usage_event add column epoch integer not null default 0;
drop index usage_event_once;
-- A repeated settlement cannot bill twice.
create unique index usage_event_once on usage_event (job_id, epoch, resource_id, kind);
`;
