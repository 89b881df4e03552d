// The password of a Windows server from the answer that shows it to the guest, with API, worker, agent and lab as
// processes of their own.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Schemas } from "@kule/contract/schemas";
import { passwordFits } from "@kule/lab/console/guest-facts";
import type { VmDocument } from "@kule/lab/documents";
import { readJournal } from "@kule/lab/journal";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ leaseSeconds: 3, removalBufferSeconds: 3600 });
}, 180_000);
afterAll(() => world?.end());

const startAgent = (env: Readonly<Record<string, string>> = {}) =>
  world.startAgent({ KULE_AGENT_HEALTH_SECONDS: "1", ...env });

async function vmOf(serverId: string): Promise<VmDocument> {
  const vms = (await (await fetch(`${world.labControlUrl}/vms`)).json()) as VmDocument[];
  const vm = vms.find(({ config }) => config.description?.includes(`srv=${serverId} `));
  if (vm === undefined) throw new Error(`no VM of ${serverId}`);
  return vm;
}
const opens = async (serverId: string, password: string | null | undefined) =>
  passwordFits(await vmOf(serverId), "Administrator", password ?? "");
const timesSet = async (serverId: string) => {
  const { vmid } = await vmOf(serverId);
  return readJournal(world.labDirectory).filter(
    (entry) => entry.op === "guest-password-set" && entry.vmid === vmid,
  ).length;
};

/** Everything that the lab stores: configs, drives and journal of all its VMs. */
const labFiles = () =>
  readdirSync(world.labDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");

/** The region's agent has to report its key before a password can be sealed to it. */
async function newWindows(name: string): Promise<Schemas["ServerCreated"]> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await world.createServer(name, undefined, { image: "windows-2022", package: "l" });
    } catch (error) {
      if (tries === 100) throw error;
      await delay(200);
    }
  }
}

async function done(answer: { data?: unknown; error?: unknown }): Promise<void> {
  const { job } = (answer.data ?? {}) as { job?: { id: string } };
  if (job === undefined) throw new Error(JSON.stringify(answer.error));
  const ended = await world.untilDone(job.id);
  expect(ended.status, JSON.stringify(ended.error)).toBe("succeeded");
}

async function newAddress(): Promise<string> {
  const region = "lab1";
  const { data: pool } = await world.operator.POST("/ip-pools", {
    body: { region, name: "public", gateway: "203.0.113.1", prefix_length: 24 },
  });
  const params = { path: { ip_pool_id: pool?.id ?? "" } };
  await world.operator.POST("/ip-pools/{ip_pool_id}/ranges", { params, body: { cidr: "203.0.113.0/28" } });
  const { data: me } = await world.organisation.GET("/organisation", {});
  await world.operator.POST("/ip-pools/{ip_pool_id}/allocations", {
    params,
    body: { organisation_id: me?.id ?? "", count: 1 },
  });
  const { data } = await world.organisation.POST("/public-ips", { body: { region } });
  if (data === undefined) throw new Error("no address");
  return data.id;
}

it("opens the guest and is nowhere in the region, and a public address and a reboot change nothing of that", {
  timeout: 120_000,
}, async () => {
  const agent = startAgent();
  const created = await newWindows("win-1");
  await done({ data: created });
  const { id } = created.server;
  const password = created.console_password ?? "";
  expect(password).toMatch(/^[A-Za-z0-9]{20}$/);
  expect(await opens(id, password)).toBe(true);

  const before = (await vmOf(id)).guest.firstBoots;
  const path = { public_ip_id: await newAddress() };
  await done(
    await world.organisation.POST("/public-ips/{public_ip_id}/attach", {
      params: { path },
      body: { server_id: id },
    }),
  );
  await done(
    await world.organisation.POST("/servers/{server_id}/power", {
      params: { path: { server_id: id } },
      body: { action: "reboot" },
    }),
  );
  // A new instance to cloudbase-init, since its network is another one.
  expect((await vmOf(id)).guest.firstBoots).toBe(before + 1);
  expect(await opens(id, password)).toBe(true);
  expect(await timesSet(id)).toBe(1);

  const files = labFiles();
  expect(files).toContain(`srv=${id}`);
  expect(files).not.toContain(password);
  expect(files).not.toContain("admin_pass");
  await agent.end();
});

it("is set once by the next agent, when the guest's own answers late and the first agent was killed before", {
  timeout: 120_000,
}, async () => {
  const doomed = startAgent({ BATTERY_CRASH: "ServerCreate.start.after-ack@1" });
  const created = await newWindows("win-2");
  const { id } = created.server;
  expect((await doomed.ended).signal).toBe("SIGKILL");
  const { vmid, process } = await vmOf(id);
  expect(process).not.toBeNull();
  const guest = (agentless: boolean) =>
    fetch(`${world.labControlUrl}/guests`, { method: "POST", body: JSON.stringify({ vmid, agentless }) });
  await guest(true);
  const agent = startAgent();
  const stepsOf = async () => {
    const { data } = await world.organisation.GET("/jobs/{job_id}", {
      params: { path: { job_id: created.job.id } },
    });
    return data?.steps?.map(({ name, status }) => `${name} ${status}`) ?? [];
  };
  await expect.poll(stepsOf, { timeout: 40_000, interval: 200 }).toContain("set-password running");
  // Longer than a lease: a job that waits for a guest keeps its lease.
  await delay(4_000);
  expect(await timesSet(id)).toBe(0);
  await guest(false);
  await done({ data: created });
  expect([await opens(id, created.console_password), await timesSet(id)]).toEqual([true, 1]);
  const starts = readJournal(world.labDirectory).filter(
    (entry) => entry.op === "vm-started" && entry.vmid === vmid,
  );
  expect(starts).toHaveLength(1);
  await agent.end();
});
