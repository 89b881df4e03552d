import { renderMarker } from "@kule/proxmox/marker";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

/** Changes in a region outside of Kule, with API, worker, agent and lab as processes of their own. */
let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ leaseSeconds: 10, removalBufferSeconds: 3600 });
  world.startAgent({ KULE_AGENT_INVENTORY_SECONDS: "1", KULE_AGENT_HEALTH_SECONDS: "1" });
}, 120_000);
afterAll(() => world?.end());

/** A manual change at the hypervisor, or an event there. */
async function changeOutsideKule(what: string, ...args: unknown[]): Promise<void> {
  const answer = await fetch(`${world.labControlUrl}/world`, {
    method: "POST",
    body: JSON.stringify({ do: what, args }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

const until = { timeout: 40_000, interval: 200 };
const serverOf = async (id: string) =>
  (await world.organisation.GET("/servers/{server_id}", { params: { path: { server_id: id } } })).data;
const driftOf = async () =>
  ((await world.operator.GET("/operator/drift", {})).data?.items ?? [])
    .map(({ kind, vmid }) => `${kind} ${vmid}`)
    .sort();

async function newServer(name: string) {
  const { server, job } = await world.createServer(name);
  expect((await world.untilDone(job.id)).status).toBe("succeeded");
  const vm = (await world.vms()).find(({ description }) => description.includes(server.id));
  if (vm === undefined) throw new Error(`no VM of ${server.id}`);
  return { id: server.id, vmid: vm.vmid };
}

it("follows a guest that powers itself off, and counts it", async () => {
  const { id, vmid } = await newServer("follows");
  await expect
    .poll(() => serverOf(id), until)
    .toMatchObject({
      observation: "fresh",
      status: "running",
      drift: null,
      guest: { agent: true, cloud_init: "done", hostname: "follows" },
    });
  await changeOutsideKule("setPower", vmid, false);
  await expect.poll(() => serverOf(id), until).toMatchObject({ status: "stopped", power_state: "off" });
  const { data } = await world.organisation.GET("/usage", { params: { query: { resource: id } } });
  expect(data?.items.map(({ kind, source }) => `${kind} ${source}`)).toEqual([
    "disk.allocated verify",
    "server.started verify",
    "server.stopped reconcile",
  ]);
  await changeOutsideKule("setPower", vmid, true);
  await expect.poll(() => serverOf(id), until).toMatchObject({ status: "running", power_state: "on" });
});

it("reports drift of all four kinds, destroys nothing, and closes what matches again", async () => {
  const changed = await newServer("changed");
  const missing = await newServer("missing");
  await changeOutsideKule("editConfig", changed.vmid, { cores: "9" });
  await changeOutsideKule("stealVmid", 29_000);
  await changeOutsideKule("stealVmid", 29_001);
  const marker = { serverId: "srv_gone", organisationId: "org_gone", region: "lab1", jobId: "job_gone" };
  await changeOutsideKule("editConfig", 29_001, { description: renderMarker(marker) });
  // Not before it was seen: a VM that was never complete cannot be missing.
  await expect.poll(() => serverOf(missing.id), until).toMatchObject({ guest: { agent: true } });
  await changeOutsideKule("deleteVm", missing.vmid);

  await expect
    .poll(driftOf, until)
    .toEqual([`changed ${changed.vmid}`, "extra 29001", "foreign 29000", `missing ${missing.vmid}`].sort());
  expect(await serverOf(changed.id)).toMatchObject({
    status: "running",
    drift: { kind: "changed", differences: [{ field: "vcpu", wanted: "1", seen: "9" }] },
  });
  expect(await serverOf(missing.id)).toMatchObject({
    status: "error",
    status_reason: { code: "vm_missing" },
    drift: { kind: "missing" },
  });
  expect(world.effects().destroys.size).toBe(0);

  await changeOutsideKule("editConfig", changed.vmid, { cores: "1" });
  await changeOutsideKule("deleteVm", 29_000);
  await changeOutsideKule("deleteVm", 29_001);
  await expect.poll(driftOf, until).toEqual([`missing ${missing.vmid}`]);
  expect(await serverOf(changed.id)).toMatchObject({ drift: null });
});

it("imports a running VM as it is, and never twice", async () => {
  const { id } = await newServer("neighbour");
  const subnet = (await serverOf(id))?.interfaces[0]?.subnet_id ?? "";
  await changeOutsideKule("stealVmid", 28_000);
  await changeOutsideKule("editConfig", 28_000, { net0: "virtio=BC:24:11:12:34:56,bridge=vmbr1" });
  await changeOutsideKule("setPower", 28_000, true);
  await expect.poll(driftOf, until).toContain("foreign 28000");
  const { data: me } = await world.organisation.GET("/organisation", {});
  const take = () =>
    world.operator.POST("/servers/import", {
      params: { header: { "Kule-Organisation": me?.id ?? "" } },
      body: {
        name: `moved-${Math.floor(performance.now())}`,
        region: "lab1",
        vmid: 28_000,
        image: "debian-12",
        package: "s",
        subnet_id: subnet,
      },
    });
  const { data } = await take();
  if (data === undefined || !("job" in data)) throw new Error("not accepted");
  expect((await world.untilDone(data.job.id)).status).toBe("succeeded");
  const { id: adopted } = data.server;
  expect(await serverOf(adopted)).toMatchObject({
    status: "running",
    interfaces: [{ mac: "bc:24:11:12:34:56" }],
  });
  expect((await world.vms()).find(({ vmid }) => vmid === 28_000)).toMatchObject({
    running: true,
    description: expect.stringContaining(adopted),
  });
  expect((await take()).response.status).toBe(409);
  // No longer foreign; its differences from its package are reported.
  await expect.poll(driftOf, until).not.toContain("foreign 28000");
  await expect.poll(() => serverOf(adopted), until).toMatchObject({ drift: { kind: "changed" } });
});

it("stops a server again that was started in its removal buffer", async () => {
  const { id, vmid } = await newServer("buffered");
  const { data } = await world.organisation.DELETE("/servers/{server_id}", {
    params: { path: { server_id: id } },
  });
  if (data === undefined || !("job" in data)) throw new Error("not deleted");
  await world.untilDone(data.job.id);
  await changeOutsideKule("setPower", vmid, true);
  const stops = async () => {
    const jobs = await world.organisation.GET("/jobs", { params: { query: { resource: id } } });
    return jobs.data?.items.filter(({ kind, status }) => kind === "ServerStop" && status === "succeeded")
      .length;
  };
  await expect.poll(stops, until).toBe(2);
  expect((await world.vms()).find((vm) => vm.vmid === vmid)?.running).toBe(false);
  expect(await serverOf(id)).toMatchObject({ status: "pending_deletion" });
});

it("places servers where there is capacity, and refuses what fits nowhere", async () => {
  await changeOutsideKule("setNode", "pve1", { memoryBytes: 24 * 2 ** 30 });
  await changeOutsideKule("setNode", "pve2", { memoryBytes: 1 * 2 ** 30 });
  const check = async () =>
    (
      await world.organisation.POST("/catalog/check", {
        body: { region: "lab1", image: "ubuntu-24.04", package: "xxl" },
      })
    ).data;
  await expect
    .poll(check, until)
    .toMatchObject({ placeable: false, known: true, fits: 0, reason: "capacity" });
  const { error, response } = await world.organisation.POST("/servers", {
    body: { name: "too-large", region: "lab1", image: "ubuntu-24.04", package: "xxl" },
  });
  expect(response.status).toBe(409);
  expect(error).toMatchObject({ code: "capacity_unavailable" });
  const small = await newServer("small");
  const [{ node } = { node: "" }] = (
    (await (await fetch(`${world.labControlUrl}/vms`)).json()) as { vmid: number; node: string }[]
  ).filter(({ vmid }) => vmid === small.vmid);
  expect(node).toBe("pve1");
});

it("changes nothing of the servers of a node that does not answer", async () => {
  const { id, vmid } = await newServer("silent");
  await expect.poll(() => serverOf(id), until).toMatchObject({ observation: "fresh" });
  const lastPass = async () =>
    (await world.operator.GET("/regions/{region}/capacity", { params: { path: { region: "lab1" } } })).data
      ?.last_pass;
  await changeOutsideKule("nodeDown", "pve1");
  await expect
    .poll(lastPass, until)
    .toMatchObject({ complete: false, trouble: expect.stringContaining("pve1") });
  const before = await serverOf(id);
  const since = (await lastPass())?.number ?? 0;
  await expect.poll(async () => ((await lastPass())?.number ?? 0) > since + 1, until).toBe(true);
  // Not missing, not off, and not seen either.
  expect(await serverOf(id)).toMatchObject({
    status: "running",
    power_state: "on",
    drift: null,
    observed_at: before?.observed_at,
  });
  await changeOutsideKule("nodeUp", "pve1");
  // The node has lost its power, and its guests with it.
  await expect.poll(() => serverOf(id), until).toMatchObject({ status: "stopped", power_state: "off" });
  expect((await world.vms()).some((vm) => vm.vmid === vmid)).toBe(true);
});
