import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestProcess } from "../child-process.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { batches, type CrashCase, tracedCases } from "./crash-points.ts";

/** Agents that are killed at the same time, each at a place of its own. */
const BATCH = 8;
const KINDS = ["ServerCreate", "ServerStop", "ServerRestore", "ServerDestroy"] as const;
type Kind = (typeof KINDS)[number];

/**
 * Every crash point of every kind of job: as many servers as agents, each agent killed by SIGKILL when its first
 * fresh job reaches its place, then a healthy agent that has to bring everything to its end.
 */
describe("an agent that is killed", () => {
  let world: RegionWorld;
  let db: pg.Client;
  const cases = new Map<Kind, CrashCase[]>();
  let made = 0;

  beforeAll(async () => {
    world = await startRegionWorld({ removalBufferSeconds: 3600, labTimeScale: 0.01 });
    db = new pg.Client({ connectionString: world.database.ownerUrl });
    await db.connect();
    const trace = path.join(mkdtempSync(path.join(tmpdir(), "kule-trace-")), "trace");
    // Each kind once: a crash point is counted within one job.
    let agent = world.startAgent({ BATTERY_TRACE: trace });
    const server = await createdServer();
    await finished(await remove(server));
    await finished(await restore(server));
    await agent.end();
    agent = world.startAgent();
    await finished(await remove(server));
    await agent.end();
    agent = world.startAgent({ BATTERY_TRACE: trace });
    await expireBuffer([server]);
    await goneFromDatabase(server);
    await agent.end();
    for (const kind of KINDS) cases.set(kind, tracedCases(trace, kind));
  });

  afterAll(async () => {
    await db?.end();
    await world?.end();
  });

  function nextName(): string {
    made += 1;
    return `server-${made}`;
  }

  async function createdServer(): Promise<string> {
    const { server, job } = await world.createServer(nextName());
    await finished(job);
    return server.id;
  }

  async function createdServers(count: number): Promise<string[]> {
    const agent = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
    const servers = await Promise.all(Array.from({ length: count }, createdServer));
    await agent.end();
    return servers;
  }

  async function finished(job: Schemas["Job"], client?: ApiClient): Promise<void> {
    const done = await world.untilDone(job.id, client);
    if (done.status !== "succeeded") throw new Error(`${JSON.stringify(done, null, 1)}\n${world.outputs()}`);
  }

  async function remove(server: string): Promise<Schemas["Job"]> {
    const { data, error } = await world.organisation.DELETE("/servers/{server_id}", {
      params: { path: { server_id: server } },
    });
    if (data === undefined || !("job" in data)) throw new Error(JSON.stringify(error));
    return data.job;
  }

  async function restore(server: string): Promise<Schemas["Job"]> {
    const { data, error } = await world.organisation.POST("/servers/{server_id}/cancel-deletion", {
      params: { path: { server_id: server } },
    });
    if (data === undefined || !("job" in data)) throw new Error(JSON.stringify(error));
    return data.job;
  }

  /** The buffer is an hour here; this is the hour passing, for these servers. */
  async function expireBuffer(servers: readonly string[]): Promise<void> {
    await db.query("update server set purge_at = now() where id = any ($1)", [servers]);
    await db.query(
      "update graphile_worker._private_jobs set run_at = now() where key in (select 'purge:' || s from unnest($1::text[]) s)",
      [servers],
    );
  }

  async function goneFromDatabase(server: string): Promise<void> {
    const deadline = performance.now() + 60_000;
    for (;;) {
      const { rows } = await db.query<{ status: string }>("select status from server where id = $1", [
        server,
      ]);
      if (rows[0]?.status === "deleted") return;
      if (performance.now() > deadline)
        throw new Error(`${server} is ${rows[0]?.status}\n${world.outputs()}`);
      await delay(200);
    }
  }

  /** Kills one agent at each of the places while they have these jobs to do. */
  async function killAgents(places: readonly CrashCase[]): Promise<void> {
    const agents = places.map(
      ({ name, time }): TestProcess =>
        world.startAgent({ BATTERY_CRASH: `${name}@${time}`, KULE_AGENT_CONCURRENCY: "1" }),
    );
    const giveUp = setTimeout(() => {
      for (const agent of agents) agent.signal("SIGTERM");
    }, 40_000);
    const ends = await Promise.all(agents.map((agent) => agent.ended));
    clearTimeout(giveUp);
    const survivors = agents.filter((_, index) => ends[index]?.signal !== "SIGKILL");
    if (survivors.length > 0) {
      const names = places.filter((_, index) => ends[index]?.signal !== "SIGKILL");
      throw new Error(
        `never reached: ${JSON.stringify(names)}\n${survivors.map((each) => each.output()).join("\n")}`,
      );
    }
  }

  async function nothingIsWrong(): Promise<void> {
    const effects = world.effects();
    for (const [vmid, count] of effects.clones) expect(count, `clones of VM ${vmid}`).toBe(1);
    for (const [vmid, count] of effects.destroys) expect(count, `destroys of VM ${vmid}`).toBe(1);
    const vms = await world.vms();
    const { rows: live } = await db.query<{ id: string; vmid: number }>(
      "select s.id, v.vmid from server s join region_vmid v on v.server_id = s.id and v.state = 'used' where s.deleted_at is null",
    );
    expect(vms.map((vm) => vm.vmid).sort(), "one VM for each server, and no other").toEqual(
      live.map((row) => row.vmid).sort(),
    );
    for (const { id, vmid } of live)
      expect(vms.find((vm) => vm.vmid === vmid)?.description, "the VM is its server's").toContain(
        `srv=${id}`,
      );
    const { rows: leaked } = await db.query(
      `select a.address from address a left join nic n on n.id = a.nic_id left join server s on s.id = n.server_id
        where a.state = 'used' and (s.id is null or s.deleted_at is not null)`,
    );
    expect(leaked, "addresses without a server").toEqual([]);
    const { rows: stuck } = await db.query(
      "select id, kind, status from job where status in ('queued', 'running')",
    );
    expect(stuck, "jobs that are stuck").toEqual([]);
    const { rows: queue } = await db.query(
      "select key from graphile_worker._private_jobs where key like 'job_%'",
    );
    expect(queue, "queue entries without a job").toEqual([]);
  }

  it("has crash points around each of its steps", () => {
    for (const kind of KINDS) expect(cases.get(kind)?.length, kind).toBeGreaterThanOrEqual(10);
  });

  it("at every step of ServerCreate leaves one VM, its addresses, and no stuck job", {
    timeout: 300_000,
  }, async () => {
    for (const batch of batches(cases.get("ServerCreate") ?? [], BATCH)) {
      // Organisations of their own, since only an organisation's first server makes its pool.
      const organisations = await Promise.all(batch.map(() => world.newOrganisation(nextName())));
      const killing = killAgents(batch);
      const created = await Promise.all(
        organisations.map(async (client) => ({ client, ...(await world.createServer(nextName(), client)) })),
      );
      await killing;
      const healer = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
      for (const { job, client } of created) await finished(job, client);
      await healer.end();
      await nothingIsWrong();
    }
  });

  it("at every step of ServerStop and ServerRestore leaves the server as it was asked to be", {
    timeout: 300_000,
  }, async () => {
    const stops = cases.get("ServerStop") ?? [];
    const restores = cases.get("ServerRestore") ?? [];
    const servers = await createdServers(BATCH);
    for (const [places, act] of [
      [stops, remove],
      [restores, restore],
    ] as const) {
      for (const batch of batches(places, BATCH)) {
        if (act === restore) await undone(servers, batch.length, remove);
        const killing = killAgents(batch);
        const jobs = await Promise.all(servers.slice(0, batch.length).map(act));
        await killing;
        const healer = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
        for (const job of jobs) await finished(job);
        await healer.end();
        if (act === remove) await undone(servers, batch.length, restore);
        await nothingIsWrong();
      }
    }
    const running = new Set(
      (await world.vms()).filter((vm) => vm.running).map((vm) => /srv=(\S+)/.exec(vm.description)?.[1]),
    );
    for (const server of servers) expect(running.has(server), `${server} runs again`).toBe(true);
  });

  /** Brings servers back to where the next batch starts from, with nobody killed. */
  async function undone(
    servers: readonly string[],
    count: number,
    act: (server: string) => Promise<Schemas["Job"]>,
  ): Promise<void> {
    const agent = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
    for (const job of await Promise.all(servers.slice(0, count).map(act))) await finished(job);
    await agent.end();
  }

  it("at every step of ServerDestroy leaves no VM, no volume, no address and no stuck job", {
    timeout: 300_000,
  }, async () => {
    for (const batch of batches(cases.get("ServerDestroy") ?? [], BATCH)) {
      const servers = await createdServers(batch.length);
      await undone(servers, servers.length, remove);
      const killing = killAgents(batch);
      await expireBuffer(servers);
      await killing;
      const healer = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
      for (const server of servers) await goneFromDatabase(server);
      await healer.end();
      await nothingIsWrong();
      const { volumes } = world.effects();
      const { rows } = await db.query<{ vmid: number }>(
        "select vmid from region_vmid where state = 'tombstone'",
      );
      for (const { vmid } of rows)
        expect([...(volumes.get(vmid) ?? [])], `volumes of VM ${vmid}`).toEqual([]);
    }
  });
});
