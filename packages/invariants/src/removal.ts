import { type Check, openJobOf } from "./check.ts";

/** Nothing is destroyed too soon, and no secret outlives its use. */
export const removalChecks: readonly Check[] = [
  {
    invariant: "I13",
    check: "no destroy job before its time, none for a server that was kept",
    by: "job",
    sql: `select j.id as key, j.id || ' for ' || s.id || ' (' || s.status || ')' as subject from job j join server s on s.id = j.resource_id
           where within(j.id) and j.kind = 'ServerDestroy' and j.status <> 'cancelled'
             and (s.status not in ('deleting', 'deleted') or s.purge_at is null or s.purge_at > j.created_at)`,
  },
  {
    invariant: "I13",
    check: "a server is deleted only when it was destroyed",
    by: "server",
    sql: `select s.id as key, s.id as subject from server s
           where within(s.id) and s.status = 'deleted' and not exists (
             select 1 from job j where j.organisation_id = s.organisation_id and j.resource_id = s.id and j.kind = 'ServerDestroy' and j.status = 'succeeded')`,
  },
  {
    invariant: "secret-kept",
    check: "no password outlives the job that sets it",
    sql: `select x.server_id as subject from server_secret x join server s on s.id = x.server_id
           where s.status in ('running', 'stopped', 'deleted') and not ${openJobOf("s.id", "'ServerCreate', 'ServerRebuild', 'ServerPasswordReset'")}`,
  },
];
