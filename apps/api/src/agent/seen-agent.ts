import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { type RawBuilder, sql } from "kysely";
import type { ApiRequest } from "../platform/api-request.ts";

/** A region has one agent, or a few; more names than these in ten minutes are no agents. */
const mostAgents = 20;

/**
 * Writes what the agent said of itself, as a part of the statement that stores the report: its row, unless the region has so many
 * already that somebody invents them.
 */
export function seenAgent({ body, caller }: ApiRequest<"reportHealth">, region: string): RawBuilder<object> {
  const { agent_version: version, agent_name: name = "", architecture = null } = body;
  const update = keptUpdate(body.update ?? null);
  return sql`
    insert into region_agent (region, token_id, name, version, architecture, can_update, update_report)
    select ${region}, ${caller.tokenId}, ${name}, ${version}, ${architecture}, ${body.can_update === true}::boolean,
           ${update === null ? null : JSON.stringify(update)}::jsonb
     where exists (select from region_agent
                    where region = ${region} and token_id = ${caller.tokenId} and name = ${name})
        or (select count(*) from region_agent
             where region = ${region} and reported_at > clock_timestamp() - interval '10 minutes') < ${mostAgents}
    on conflict (region, token_id, name) do update
       set version = excluded.version, architecture = excluded.architecture, can_update = excluded.can_update,
           update_report = excluded.update_report, reported_at = clock_timestamp()`;
}

/**
 * The version that the open rollout offers the region; null when the agent runs it. One that has stopped offers nothing, and
 * without an open one this reads an empty index.
 */
export function offeredVersion(region: string, running: string): RawBuilder<string | null> {
  return sql`(
    select rollout.version from agent_rollout rollout
      join agent_rollout_region part on part.rollout_id = rollout.id and part.region = ${region}
     where rollout.status in ('running', 'paused', 'stopped') and rollout.status <> 'stopped'
       and part.state in ('offered', 'updated') and rollout.version <> ${running})`;
}

/** The fields of the contract, and no others. */
function keptUpdate(update: RequestBody<"reportHealth">["update"] | null): Schemas["AgentUpdate"] | null {
  if (update == null) return null;
  const { version, state, code, message, at } = update;
  return { version, state, code, message, at };
}
