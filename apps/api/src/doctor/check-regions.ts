import { regionStatus } from "@kule/rules/regions/status";
import type { Client } from "pg";
import { advice, type Finding, good, wrong } from "./finding.ts";

type Region = {
  readonly slug: string;
  readonly mode: string;
  readonly maintenance: boolean;
  readonly version: string | null;
  readonly age: number | null;
  readonly is_ok: boolean | null;
  readonly key_pending: boolean;
};

/** More regions than anybody reads; the rest is counted. */
const mostRegions = 200;

/** Whether the region of each agent is heard of. */
export async function checkRegions(client: Client): Promise<Finding[]> {
  const { rows } = await client.query<Region>(
    `select slug, mode, maintenance, agent_version as version, health_ok as is_ok,
            extract(epoch from clock_timestamp() - health_at)::double precision as age,
            pending_agent_key is not null as key_pending
       from region order by slug limit ${mostRegions}`,
  );
  if (rows.length === 0)
    return [
      advice(
        "regions",
        "there is none",
        "register one, in the panel under Operator, Regions, or by POST /regions",
      ),
    ];
  return rows.flatMap(findingsOf);
}

function findingsOf(region: Region): Finding[] {
  const check = `region ${region.slug}`;
  const key = region.key_pending
    ? [
        advice(
          check,
          "another sealing key of its agent waits for approval",
          "docs/runbooks/agent.md, “The key, and when it changes”",
        ),
      ]
    : [];
  return [statusOf(region, check), ...key];
}

function statusOf({ slug, mode, maintenance, version, is_ok, age }: Region, check: string): Finding {
  const status = regionStatus({ maintenance, reportAgeSeconds: age, reportOk: is_ok ?? false });
  if (status === "maintenance") return good(check, "in maintenance");
  if (status === "ok")
    return good(
      check,
      mode === "direct" ? "driven by the worker" : `agent ${version ?? "of an unknown version"} reports`,
    );
  if (status === "degraded")
    return advice(
      check,
      "its agent reports trouble",
      `GET /regions/${slug} names it; \`kule-agent check\` has details`,
    );
  if (age === null)
    return advice(
      check,
      "no agent has reported yet",
      mode === "direct"
        ? "name its region file in KULE_DIRECT_REGIONS of the worker"
        : "install its agent: docs/runbooks/agent.md",
    );
  return wrong(
    check,
    `silent for ${lengthOf(age)}`,
    mode === "direct"
      ? "look whether the worker runs, and what it says: journalctl -u kule-worker"
      : "on the agent's machine: systemctl status kule-agent, then kule-agent check",
  );
}

function lengthOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} hours` : `${Math.round(seconds / 86_400)} days`;
}
