import type { Client } from "pg";
import { goneAfterSeconds } from "../worker/presence.ts";
import { advice, type Finding, good, wrong } from "./finding.ts";

/** What runs and who is there: workers, operators, and what the worker found in the database. */
export async function checkContents(client: Client): Promise<Finding[]> {
  return [await checkWorkers(client), await checkOperators(client), ...(await checkInvariants(client))];
}

async function checkWorkers(client: Client): Promise<Finding> {
  const { rows } = await client.query<{ live: number; last: number | null }>(
    `select count(*) filter (where seen_at > clock_timestamp() - make_interval(secs => $1))::integer as live,
            extract(epoch from clock_timestamp() - max(seen_at))::double precision as last from worker_process`,
    [goneAfterSeconds],
  );
  const { live = 0, last = null } = rows[0] ?? {};
  if (live > 0) return good("worker", live === 1 ? "one runs" : `${live} run`);
  return wrong(
    "worker",
    last === null
      ? "none has run, or the last one was stopped"
      : `none runs; the last was heard of ${Math.round(last)} s ago`,
    "systemctl start kule-worker, or read why it ended: journalctl -u kule-worker",
  );
}

async function checkOperators(client: Client): Promise<Finding> {
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::integer as count from app_user where is_operator",
  );
  const count = rows[0]?.count ?? 0;
  return count > 0
    ? good("operators", count === 1 ? "one person" : `${count} people`)
    : wrong("operators", "nobody is an operator", "run `kule-server seed`, which makes the first one");
}

async function checkInvariants(client: Client): Promise<Finding[]> {
  const { rows } = await client.query<{ age: number; interval_seconds: number; violations: unknown[] }>(
    `select extract(epoch from clock_timestamp() - checked_at)::double precision as age, interval_seconds, violations
       from invariant_report`,
  );
  const [report] = rows;
  // The worker makes the first one; that none runs is another finding.
  if (report === undefined) return [];
  const { age, interval_seconds: interval, violations } = report;
  if (violations.length > 0)
    return [
      wrong(
        "invariants",
        `${violations.length} are violated`,
        "docs/runbooks/invariants.md; GET /operator/invariants lists them",
      ),
    ];
  const minutes = Math.round(age / 60);
  return age > 3 * interval
    ? [
        advice(
          "invariants",
          `last checked ${minutes} minutes ago`,
          "look whether the worker runs: journalctl -u kule-worker",
        ),
      ]
    : [good("invariants", "all hold")];
}
