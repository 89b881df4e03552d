import { setTimeout as delay } from "node:timers/promises";
import { type RegionWorld, startRegionWorld } from "@kule/testing/region-world";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import pg from "pg";
import { worldViolations } from "../races/world-violations.ts";
import { emptyWord, judgeAgentLogs, readAgentLog } from "./agent-log-summary.ts";
import { Feeder } from "./feeder.ts";
import type { Fleet } from "./fleet.ts";
import { judgeHistory, readJobHistory, recordJobHistory } from "./job-history.ts";

/** A world whose jobs are watched, with a subnet that is large enough. */
export type Scene = {
  readonly world: RegionWorld;
  readonly owner: pg.Client;
  readonly subnetId: string;
  readonly feeder: Feeder;
  /** Jobs that have ended so far. */
  ended(): Promise<number>;
  /** A claim of a valid lease, or an answer of 500: nothing later could correct it. */
  isBroken(): Promise<boolean>;
  close(): Promise<void>;
};

export async function openScene(options: {
  readonly leaseSeconds: number;
  readonly fedServers: number;
}): Promise<Scene> {
  const world = await startRegionWorld({
    leaseSeconds: options.leaseSeconds,
    removalBufferSeconds: 2,
    apiEnv: { KULE_ADDRESS_QUARANTINE_SECONDS: "0", KULE_DATABASE_POOL_SIZE: "30" },
  });
  const owner = new pg.Client({ connectionString: world.database.ownerUrl });
  owner.on("error", () => {});
  const close = async () => {
    await owner.end();
    await world.end();
  };
  try {
    await owner.connect();
    await recordJobHistory(owner);
    const api = world.organisation;
    const network = await api.POST("/networks", {
      body: { name: "wide", region: "lab1", cidr: "10.0.0.0/8" },
    });
    const networkId = network.data?.network.id ?? "";
    const subnet = await api.POST("/networks/{network_id}/subnets", {
      params: { path: { network_id: networkId } },
      body: { name: "wide", tier: "app", cidr: "10.0.0.0/16" },
    });
    const subnetId = subnet.data?.subnet.id;
    if (subnetId === undefined) throw new Error(JSON.stringify(subnet.error ?? network.error));
    const { rows } = await owner.query("select organisation_id from subnet where id = $1", [subnetId]);
    return {
      world,
      owner,
      subnetId,
      feeder: await Feeder.open(owner, rows[0]?.organisation_id, subnetId, options.fedServers),
      ended: async () => {
        const { rows: counts } = await owner.query(
          "select count(*)::integer as n from battery.change where status in ('succeeded', 'failed', 'cancelled')",
        );
        return counts[0]?.n ?? 0;
      },
      isBroken: async () => {
        if (world.api.output().includes('"a bug"')) return true;
        const { rows: stolen } = await owner.query(
          "select 1 from battery.change where status = 'running' and old_status = 'running' and old_lease_until > at limit 1",
        );
        return stolen.length > 0;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Waits until no job is open and no server is in transition; reports what is stuck when that takes too long.
 */
export async function untilQuiet(scene: Scene, limitSeconds: number): Promise<string[]> {
  const { owner } = scene;
  const deadline = performance.now() + limitSeconds * 1000;
  for (;;) {
    // The buffer's end is the worker's, a moment after its time; fed servers stay in theirs.
    const { rows } = await owner.query<{ text: string }>(`
      select j.id || ' (' || j.kind || ', attempt ' || j.attempt || ') of ' || j.resource_id || ' is ' || j.status as text
        from job j where j.status in ('queued', 'running')
      union all
      select s.id || ' is ' || s.status from server s
       where s.status not in ('deleted', 'error') and s.name not like 'fed-%'`);
    if (rows.length === 0) return [];
    if (performance.now() > deadline || (await scene.isBroken()))
      return rows.map(({ text }) => `stuck: ${text}`);
    await delay(250);
  }
}

export type Judgement = { readonly violations: string[]; readonly done: number; readonly takenOver: number };

/**
 * Checks everything that the row promises, from the database's history, the agents' own logs, the region and
 * world-check.
 */
export async function judge(scene: Scene, fleet: Fleet): Promise<Judgement> {
  const { world, owner } = scene;
  const history = judgeHistory(await readJobHistory(owner));
  const word = emptyWord();
  for (const [index, agent] of fleet.all.entries()) readAgentLog(word, `agent ${index}`, agent.output());
  const violations = [...history.violations, ...judgeAgentLogs(word, history.attemptsEnded)];
  if (word.given.size === 0 || word.ended.size === 0) violations.push("the agents' logs say nothing of jobs");

  const { rows: lost } = await owner.query<{ id: string }>(
    "select id from job where epoch > 0 and id not in (select job_id from battery.change)",
  );
  violations.push(...lost.map(({ id }) => `${id} was begun and its history is lost`));
  const { rows: ends } = await owner.query<{ resource: string; n: number }>(
    "select resource, count(*)::integer as n from audit where action = 'job.end' group by resource having count(*) > 1",
  );
  violations.push(...ends.map(({ resource, n }) => `${resource} has ${n} ends in the audit trail`));

  const effects = world.effects();
  for (const [what, counts] of [
    ["cloned", effects.finishedClones],
    ["destroyed", effects.destroys],
  ] as const)
    for (const [vmid, count] of counts)
      if (count > 1) violations.push(`VM ${vmid} was ${what} ${count} times`);
  for (const process of [world.api, world.worker]) {
    const bug = process
      .output()
      .split("\n")
      .find((line) => line.includes('"a bug"'));
    if (bug !== undefined) violations.push(`the ${process.name} met a bug: ${bug.slice(0, 800)}`);
  }
  const view = await viewOfControlServer("lab1", world.labControlUrl);
  violations.push(...(await worldViolations(world.database.ownerUrl, "in the end", [view])));
  return { violations, done: history.done, takenOver: history.takenOver };
}
