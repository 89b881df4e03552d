/** Which workers live, so that an installation without one is noticed: nothing else fails when there is none. */
export const workerPresence = `
create table worker_process (
  id text primary key,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);

grant select on worker_process to kule_api;
`;
