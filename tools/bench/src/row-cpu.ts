import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createScene } from "./create-scene.ts";
import { type Installation, ownerClient } from "./installation.ts";
import { closedLoop, HttpClients } from "./load.ts";
import { made } from "./organisations.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;
/**
 * Milliseconds of CPU that an operation may take, of the API and of Postgres together: a quarter more than what was
 * measured on two cores (9.7, 0.5 and 11.4).
 */
const limitsMs = { "POST /servers": 12, "GET a server": 0.7, "claim + settlement": 14 } as const;
const tickMs = 1_000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** How much CPU an operation takes, of the API and of Postgres, with all clients: waiting does not count. */
export async function cpuRows(installation: Installation, seconds: number): Promise<Row[]> {
  const postmaster = await postmasterOf(installation);
  const scene = await createScene(installation, "cpu1", CLIENTS);
  const clientsFor = (token: string) =>
    new HttpClients(installation.api.urls, CLIENTS, { authorization: `Bearer ${token}` });
  const [tenant, agent] = [clientsFor(scene.organisation.token), clientsFor(scene.agentToken)];
  const rows: Row[] = [];
  const measure = async (
    what: keyof typeof limitsMs,
    forSeconds: number,
    act: (client: number) => Promise<void>,
  ) => {
    await closedLoop(CLIENTS, forSeconds / 4, act);
    const before = cpuOf(installation, postmaster);
    const { count } = await closedLoop(CLIENTS, forSeconds, act);
    const after = cpuOf(installation, postmaster);
    const api = (after.api - before.api) / count;
    const postgres = (after.postgres - before.postgres) / count;
    rows.push({
      what: `CPU of ${what}`,
      ours: `${(api + postgres).toFixed(2)} ms`,
      floor: `${api.toFixed(2)} ms API, ${postgres.toFixed(2)} ms Postgres`,
      ratio: "–",
      aim: `≤ ${limitsMs[what]} ms`,
      reached: api + postgres <= limitsMs[what],
    });
  };
  await measure("POST /servers", seconds, scene.create);
  const { body } = await tenant.send("GET", "/servers?limit=1");
  const [server] = (JSON.parse(body) as { items: { id: string }[] }).items;
  await measure("GET a server", seconds / 2, async () => {
    const { status } = await tenant.send("GET", `/servers/${server?.id}`);
    if (status !== 200) throw new Error(`GET of a server answered ${status}`);
  });
  let turn = 0;
  // Of the servers that were created above.
  await measure("claim + settlement", seconds / 4, async () => {
    turn += 1;
    const claim = await agent.send("POST", "/agent/jobs/claim", {
      ...{ claim_id: `cpu-claim-${turn}`, agent_version: "bench", capabilities: ["ServerCreate"] },
    });
    if (claim.status !== 200) throw new Error(`a claim answered ${claim.status}: the creates were too few`);
    const { job } = JSON.parse(claim.body) as { job: { id: string; epoch: number } };
    const outcome = { status: "succeeded", observed: { power_state: "on" } };
    await made(agent, `/agent/jobs/${job.id}/steps`, { epoch: job.epoch, seq: 1, outcome });
  });
  for (const each of [tenant, agent]) each.close();
  scene.close();
  return rows;
}

/** CPU milliseconds so far. Postgres: of its postmaster, what has ended below it, and its present children. */
function cpuOf(installation: Installation, postmaster: number): { api: number; postgres: number } {
  const api = installation.api.pids.reduce((sum, pid) => sum + cpuMs(pid, false), 0);
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === postmaster);
  const postgres = children.reduce((sum, pid) => sum + cpuMs(pid, false), cpuMs(postmaster, true));
  return { api, postgres };
}

async function postmasterOf(installation: Installation): Promise<number> {
  const owner = await ownerClient(installation);
  const { rows } = await owner.query<{ pid: number }>("select pg_backend_pid() as pid");
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  await owner.end();
  return postmaster;
}

/** The fields of a process after its name, which may hold spaces; empty when it has ended. */
function statOf(pid: number): string[] {
  try {
    return (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1) ?? "").split(" ");
  } catch {
    return [];
  }
}

const parentOf = (pid: number) => Number(statOf(pid)[1] ?? 0);

function cpuMs(pid: number, withEnded: boolean): number {
  const stat = statOf(pid);
  const ticks = stat.slice(11, withEnded ? 15 : 13).reduce((sum, text) => sum + Number(text), 0);
  return ticks * tickMs;
}
