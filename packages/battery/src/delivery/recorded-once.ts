import type { ServerLives } from "./server-lives.ts";

/**
 * What the control plane recorded more often than it happened, or less often: steps, ends and usage. For a
 * world in which every server that was deleted had been running.
 */
export async function wronglyRecorded(lives: ServerLives): Promise<string[]> {
  const rows = await lives.rows<{ text: string }>(`
    select 'step ' || name || ' of ' || job_id || ' is recorded ' || count(*) || ' times in epoch ' || epoch as text
      from job_step where name not in ('observe', 'plan', 'verify') group by job_id, epoch, name having count(*) > 1
    union all
    select 'look ' || name || ' of ' || job_id || ' is recorded ' || count(*) || ' times in epoch ' || epoch
      from job_step where name in ('observe', 'plan', 'verify') group by job_id, epoch, name having count(*) > 2
    union all
    select 'step ' || name || ' of ' || job_id || ' is ' || st.status || ' though the job ended'
      from job_step st join job j on j.id = st.job_id
     where st.status = 'running' and j.status not in ('queued', 'running')
    union all
    select 'the end of ' || j.id || ' has ' || count(a.id) || ' audit rows'
      from job j left join audit a on a.resource = j.id and a.action = 'job.end'
     where j.status not in ('queued', 'running') group by j.id having count(a.id) <> 1
    union all
    select 'server ' || s.id || ' (' || s.status || ') has ' || coalesce(u.n, 0) || ' × ' || k.kind
      from server s
      cross join (values ('disk.allocated', true), ('server.started', true),
                         ('server.stopped', false), ('disk.released', false)) as k (kind, at_start)
      left join lateral (select count(*) n from usage_event e where e.resource_id = s.id and e.kind = k.kind) u on true
     where s.status in ('running', 'deleted') and u.n <> case when k.at_start or s.status = 'deleted' then 1 else 0 end`);
  return rows.map(({ text }) => text);
}
