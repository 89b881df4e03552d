import type { Check } from "./check.ts";

/** What must hold for firewalls, other than ownership and uniqueness. */
export const firewallChecks: readonly Check[] = [
  {
    invariant: "I5",
    check: "a server has the filter that is wanted, or a job brings it, or has failed to",
    by: "server",
    sql: `select s.id as key, s.id || ' has ' || s.filter_applied || ' and is to have ' || s.filter_wanted as subject from server s
           where within(s.id) and s.status in ('running', 'stopped') and s.observed_generation > 0
             and s.filter_wanted <> s.filter_applied and not s.filter_failed and not exists (
               select 1 from job j where j.resource_id = s.id and (j.status = 'queued' or j.status = 'running'))`,
  },
  {
    invariant: "I4",
    check: "no firewall is attached to a deleted server",
    sql: `select a.id || ' of ' || s.id as subject from firewall_attachment a
            join server s on s.id = a.server_id where s.status = 'deleted'`,
  },
];
