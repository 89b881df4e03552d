import type { Check } from "./check.ts";

/** The worker checks every minute, and every process of the API more often; both had enough time. */
const longEnough = "interval '15 minutes'";
/** A session that counts: it is not over, its end was not requested, and its process has a heartbeat. */
const counts = `c.state <> 'closed' and c.end_reason is null
             and (c.state <> 'ticketed' or c.ticket_expires_at > clock_timestamp())
             and (c.replica_id is null or exists (select 1 from replica r
                   where r.id = c.replica_id and r.seen_at > clock_timestamp() - interval '15 seconds'))`;

/** Console sessions end, keep to their limits, and both is recorded. */
export const consoleChecks: readonly Check[] = [
  {
    invariant: "console-ended",
    check: "no console session or ticket is left open without a process",
    sql: `select c.id || ' of ' || c.server_id || ' is ' || c.state as subject from console_session c
           where c.state = 'ticketed' and c.ticket_expires_at < clock_timestamp() - ${longEnough}
              or c.state in ('waiting', 'claimed', 'open')
                 and coalesce(c.redeemed_at, c.created_at) < clock_timestamp() - ${longEnough}
                 and not exists (select 1 from replica r
                   where r.id = c.replica_id and r.seen_at > clock_timestamp() - ${longEnough})`,
  },
  {
    invariant: "I10",
    check: "a serial line has one session",
    sql: `select 'serial line of ' || c.server_id as subject from console_session c
           where c.type = 'serial' and ${counts} group by c.server_id having count(*) > 1`,
  },
  {
    invariant: "I9",
    check: "begin and end of a console session are in the audit trail, once",
    // Of the last hour: what was in order stays so, and the trail of a server may be long.
    sql: `select c.id || ' began ' || due.begins || ' and ended ' || due.ends || ' times, the trail says '
                 || a.begins || ' and ' || a.ends as subject
            from console_session c
            cross join lateral (select case when c.opened_at is null then 0 else 1 end as begins,
                                       case when c.state = 'closed' and c.redeemed_at is not null and c.end_reason <> 'refused'
                                            then 1 else 0 end as ends) due
            cross join lateral (select count(*) filter (where action = 'server.console_opened') as begins,
                                       count(*) filter (where action = 'server.console_closed') as ends
                                  from audit where resource = c.server_id and details ->> 'session' = c.id) a
           where (c.closed_at is null or c.closed_at > clock_timestamp() - interval '1 hour')
             and (a.begins, a.ends) <> (due.begins, due.ends)`,
  },
];
