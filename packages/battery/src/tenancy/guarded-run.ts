import { randomUUID } from "node:crypto";
import { tenantGuard } from "@kule/api/platform/tenant-guard";
import { advanceRollout } from "@kule/api/products/agent-updates/index";
import { certificateHooks } from "@kule/api/products/certificate-hooks";
import { lookAfterCertificates } from "@kule/api/products/certificates/index";
import { jobHandlers } from "@kule/api/products/job-handlers";
import { followTargets, keepLoadBalancers, meterTraffic } from "@kule/api/products/load-balancers/index";
import { serverHooks } from "@kule/api/products/server-hooks";
import { guardedShapes, openShapes } from "@kule/api/testing/proofs/guard-shapes";
import { runIsolationMatrix } from "@kule/api/testing/proofs/isolation-matrix";
import { actorsOf } from "@kule/api/testing/proofs/matrix-actors";
import type { TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";
import { openRollout } from "@kule/api/testing/rollouts";
import { cleanUp } from "@kule/api/worker/clean-up";
import { endLostConsoles } from "@kule/api/worker/end-lost-consoles";
import { expireLeases } from "@kule/api/worker/expire-leases";
import { sweepRemovalBuffers } from "@kule/api/worker/expire-removal-buffer";
import pg from "pg";
import type { Scale } from "../row.ts";

export type GuardRun = {
  readonly queries: number;
  readonly shapes: number;
  readonly violations: readonly string[];
};

/** Runs the work and records what the tenant guard checks, and what it refuses. */
export async function watchGuard(work: () => Promise<readonly string[]>): Promise<GuardRun> {
  const original = tenantGuard.transformQuery;
  const shapes = new Set<string>();
  const violations: string[] = [];
  let queries = 0;
  tenantGuard.transformQuery = (args) => {
    queries += 1;
    shapes.add(
      JSON.stringify(args.node, (key, value) => (key === "value" || key === "values" ? "?" : value)),
    );
    try {
      return original(args);
    } catch (error) {
      violations.push(`the tenant guard refused a query: ${error instanceof Error ? error.message : error}`);
      throw error;
    }
  };
  try {
    violations.push(...(await work()));
  } finally {
    tenantGuard.transformQuery = original;
  }
  return { queries, shapes: shapes.size, violations };
}

/** The guard itself: it accepts every good shape of a query and refuses every bad one. */
export async function tryGuard(): Promise<{ cases: number; violations: string[] }> {
  const violations: string[] = [];
  const passes = (query: { execute(): Promise<unknown> }) =>
    query.execute().then(
      () => true,
      () => false,
    );
  for (const [what, query] of Object.entries(guardedShapes))
    if (!(await passes(query))) violations.push(`the guard refuses ${what}`);
  for (const [what, query] of Object.entries(openShapes))
    if (await passes(query)) violations.push(`the guard lets a query with ${what} pass`);
  return { cases: Object.keys(guardedShapes).length + Object.keys(openShapes).length, violations };
}

/** Every operation as owner, operator and agent; then what only some requests do, and the worker's own work. */
export async function everyQuery(all: TwoOrganisations, scale: Scale): Promise<readonly string[]> {
  const report = await runIsolationMatrix(all, {
    actors: actorsOf(all).filter((actor) => /owner|operator|agent of A/.test(actor.name)),
    state: (state) => state.name === "own" || (scale === "full" && state.name === "foreign"),
  });
  const { world, a } = all;
  const { standing, tenant } = a;
  const paths = [
    `/servers?name=x&q=x&region=r1&status=running&label_selector=of%3Dx&sort=name`,
    `/networks?name=x&region=r1&label_selector=of%3Dx`,
    `/networks/${standing.network}/subnets?name=x`,
    `/ssh-keys?name=x&label_selector=of%3Dx`,
    `/jobs?resource=${standing.server}&status=failed&kind=ServerCreate&region=r1`,
    `/audit?action=server.create&resource=${standing.server}`,
    `/usage?resource=${standing.server}`,
    `/jobs/${standing.job}?wait=1`,
  ];
  for (const path of paths) await succeed(tenant.owner.get(path), path);
  await succeed(world.operator.get("/audit"), "the whole audit trail");
  await succeed(world.operator.post("/tokens", { name: "of the proof" }), "an operator's token");
  const body = tenant.serverBody({ subnet_id: standing.subnet });
  await succeed(tenant.owner.post("/servers?dry_run=true", body), "a dry run");
  const key = { "Idempotency-Key": randomUUID() };
  for (const time of ["the first time", "again"])
    await succeed(tenant.owner.post("/ssh-keys", sameBody(tenant), key), `a key ${time}`);
  await machineRound(all);
  await workerRound(all);
  return report.failures;
}

/** An agent that tells what it saw of a load balancer's machine, and asks for the next ones. */
async function machineRound({ a: { tenant, standing } }: TwoOrganisations): Promise<void> {
  const { body: loadBalancer } = await tenant.owner.get(`/load-balancers/${standing.load_balancer}`);
  const { slot, server_id } = loadBalancer.machines[0];
  const report = { load_balancer_id: standing.load_balancer, slot, server_id };
  const silent = { asked_after_ms: 0, seen_after_ms: null, status: null };
  const round = { agent_version: "0.0.0", after: null, reports: [{ ...report, ...silent }] };
  await succeed(tenant.region.agent.post("/agent/load-balancers", round), "a round of machines");
}

const bodies = new WeakMap<object, object>();

function sameBody(tenant: TwoOrganisations["a"]["tenant"]): object {
  const known = bodies.get(tenant) ?? tenant.sshKeyBody();
  bodies.set(tenant, known);
  return known;
}

/** A lease that passed, a removal buffer that ended, and the clean-up. */
async function workerRound({ world, a }: TwoOrganisations): Promise<void> {
  const { tenant, standing } = a;
  const jobId = await tenant.addRunningJob({ subnet_id: standing.subnet });
  const serverId = await tenant.addPendingServer({ subnet_id: standing.subnet });
  const owner = new pg.Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query("update job set lease_until = clock_timestamp() - interval '1 second' where id = $1", [
      jobId,
    ]);
    await owner.query("update server set purge_at = clock_timestamp() where id = $1", [serverId]);
  } finally {
    await owner.end();
  }
  const { deps } = world.replica;
  await expireLeases(deps, jobHandlers);
  if ((await sweepRemovalBuffers(deps)) < 1) throw new Error("no removal buffer ended");
  await endLostConsoles(deps.db);
  await followTargets(deps.db, tenant.id, tenant.region.slug);
  await keepLoadBalancers({ ...deps, hooks: serverHooks });
  await meterTraffic(deps.db);
  await lookAfterCertificates({ deps, ca: null, hooks: certificateHooks });
  await openRollout(world);
  await advanceRollout(deps.db, ["ServerCreate"]);
  await cleanUp(deps.db);
}

async function succeed(call: Promise<{ status: number; body: unknown }>, what: string): Promise<void> {
  const { status, body } = await call;
  if (status >= 300) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`);
}
