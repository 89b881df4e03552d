import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rolledOut } from "./testing/rollouts.ts";
import { ServerWorld } from "./testing/server-world.ts";
import { type WireCosts, wireCostsOf } from "./testing/wire-costs.ts";
import { tasksOf } from "./worker/run.ts";

/*
 * Limits of what the operations on the hot path send to Postgres and write to its log. A change that adds to one of
 * them raises its limit here and says why in its commit.
 */

let world: ServerWorld;
let keyId: string;
beforeAll(async () => {
  world = await ServerWorld.open();
  const key = await world.owned.post("/ssh-keys", {
    name: "laptop",
    public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd",
  });
  keyId = key.body.id;
  // Tokens are in the cache, the default network exists, and every statement is prepared.
  for (let round = 0; round < 2; round += 1) await liveOnce();
});
afterAll(() => world.close());

const create = () => world.create({ ssh_key_ids: [keyId] });
const begin = { phase: "apply", step: { name: "clone", status: "running" } };

async function liveOnce(): Promise<void> {
  await create();
  const job = await world.agent.take("ServerCreate");
  await world.agent.report(job, begin);
  await world.agent.succeed(job);
}

type Limits = WireCosts & { readonly walBytes: number };

/** Of several runs the least, since other tests write to the same log meanwhile: more of them while the least is above the limit. */
async function expectWithin(limits: Limits, prepare: () => Promise<() => Promise<unknown>>): Promise<void> {
  const wal: number[] = [];
  for (let run = 0; run < 12 || (run < 100 && Math.min(...wal) > limits.walBytes); run += 1) {
    const work = await prepare();
    const before = await logPosition();
    const { roundTrips, statements } = await wireCostsOf(work);
    wal.push(Number(await bytesSince(before)));
    expect(roundTrips, "round trips").toBeLessThanOrEqual(limits.roundTrips);
    expect(statements, "statements").toBeLessThanOrEqual(limits.statements);
  }
  const least = Math.min(...wal);
  expect(least, "bytes of the write-ahead log").toBeLessThanOrEqual(limits.walBytes);
  // A limit far above what is needed would notice nothing.
  expect(least).toBeGreaterThan(limits.walBytes / 2);
}

async function logPosition(): Promise<string> {
  return (await world.rows("select pg_current_wal_insert_lsn()::text as at"))[0].at;
}

async function bytesSince(position: string): Promise<string> {
  return (await world.rows("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1) as bytes", [position]))[0]
    .bytes;
}

describe("costs at most", () => {
  test("a create of a server", () =>
    expectWithin({ roundTrips: 6, statements: 20, walBytes: 7_500 }, async () => create));

  test("a claim", () =>
    expectWithin({ roundTrips: 4, statements: 7, walBytes: 2_200 }, async () => {
      await create();
      return () => world.agent.take("ServerCreate");
    }));

  test("a report of a step", () =>
    expectWithin({ roundTrips: 1, statements: 1, walBytes: 1_300 }, async () => {
      await create();
      const job = await world.agent.take("ServerCreate");
      return () => world.agent.report(job, begin);
    }));

  test("a report of a step's end and the next one's beginning", () =>
    expectWithin({ roundTrips: 1, statements: 1, walBytes: 1_500 }, async () => {
      await create();
      const job = await world.agent.take("ServerCreate");
      await world.agent.report(job, begin);
      const next = { phase: "apply", step: { name: "resize", status: "running" } };
      const earlier_steps = [{ phase: "apply", name: "clone", status: "succeeded" }];
      return () => world.agent.reportAs(job, 3, { ...next, earlier_steps });
    }));

  // The report, its agent's row and the version that it is offered are one statement: an agent sends it every 20 s.
  test.each([
    ["without a rollout", false],
    ["in an offered region", true],
  ])("a report of health %s", async (_what, isOffered) => {
    const report = () =>
      world.agent.api.post("/agent/health", {
        ...{
          agent_version: "1.3.0",
          agent_name: "agent-1",
          architecture: "x64",
          can_update: true,
          update: null,
        },
        hypervisor: { kind: "proxmox", reachable: true, nodes: [{ name: "pve1", online: true }] },
      });
    await report();
    if (isOffered) {
      const operator = world.world.operator;
      expect((await operator.post("/agent-rollouts", { version: rolledOut })).status).toBe(201);
      await tasksOf(world.world.replica.deps).advance_rollout?.({}, {} as never);
    }
    expect((await report()).body.update_to).toBe(isOffered ? rolledOut : null);
    await expectWithin({ roundTrips: 1, statements: 1, walBytes: 450 }, async () => report);
  });

  test("the report that ends a create", () =>
    expectWithin({ roundTrips: 3, statements: 20, walBytes: 9_000 }, async () => {
      await create();
      const job = await world.agent.take("ServerCreate");
      return () => world.agent.succeed(job);
    }));
});

test("only a report that neither ends its job nor makes it irreversible is committed without a wait for the disk", async () => {
  await create();
  const job = await world.agent.take("ServerCreate");
  const settings: string[] = [];
  for (const isFinal of [false, true]) {
    const client = await world.owner.connect();
    await client.query("begin");
    await client.query("select from kule_report_progress($1, $2, $3, $4, null, 1, false, 60, '[]', 1, $5)", [
      world.organisation.id,
      job.id,
      job.epoch,
      isFinal ? 2 : 1,
      isFinal,
    ]);
    settings.push((await client.query("show synchronous_commit")).rows[0].synchronous_commit);
    await client.query("rollback");
    client.release();
  }
  expect(settings).toEqual(["off", "on"]);
});
