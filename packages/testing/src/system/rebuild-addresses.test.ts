// A server with a public address of each version is rebuilt: it is where it was, and may use what it could.

import { readFileSync } from "node:fs";
import path from "node:path";
import type { Schemas } from "@kule/contract/schemas";
import { call } from "@kule/lab/api-client";
import type { Lab } from "@kule/lab/lab";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ leaseSeconds: 10, removalBufferSeconds: 3600 });
  world.startAgent({ KULE_AGENT_INVENTORY_SECONDS: "1", KULE_AGENT_HEALTH_SECONDS: "1" });
  await addPool("four", "203.0.113.1", 24, "203.0.113.0/28");
  await addPool("six", "2001:db8:5::1", 64, "2001:db8:5::/124");
}, 120_000);
afterAll(() => world?.end());

async function addPool(name: string, gateway: string, prefix_length: number, cidr: string) {
  const { data: me } = await world.organisation.GET("/organisation", {});
  const { data: pool } = await world.operator.POST("/ip-pools", {
    body: { region: "lab1", name, gateway, prefix_length },
  });
  const path = { ip_pool_id: pool?.id ?? "" };
  await world.operator.POST("/ip-pools/{ip_pool_id}/ranges", { params: { path }, body: { cidr } });
  const given = await world.operator.POST("/ip-pools/{ip_pool_id}/allocations", {
    params: { path },
    body: { organisation_id: me?.id ?? "", count: 4 },
  });
  expect(given.response.status).toBe(201);
}

async function done(answer: { readonly data?: object }): Promise<void> {
  const { job } = (answer.data ?? {}) as { job?: { id: string } };
  const ended = await world.untilDone(job?.id ?? "");
  expect(ended.status, JSON.stringify(ended.error)).toBe("succeeded");
}

const serverOf = async (id: string): Promise<Schemas["Server"]> => {
  const { data } = await world.organisation.GET("/servers/{server_id}", {
    params: { path: { server_id: id } },
  });
  if (data === undefined) throw new Error(`no server ${id}`);
  return data;
};

type Vm = {
  readonly vmid: number;
  readonly node: string;
  readonly running: boolean;
  readonly config: Readonly<Record<string, string | number>>;
  readonly drive: { readonly network: string } | null;
  readonly guest: { readonly addresses?: Readonly<Record<string, readonly { "ip-address": string }[]>> };
};

/** Everything that decides the place of a server's VM in the networks, and its guest's configuration. */
async function networkOf(serverId: string) {
  const vms = (await (await fetch(`${world.labControlUrl}/vms`)).json()) as Vm[];
  const vm = vms.find(({ config }) => String(config.description ?? "").includes(`srv=${serverId} `));
  if (vm === undefined) throw new Error(`no VM of ${serverId}`);
  const about = /^(net|ipconfig)\d+$|^(nameserver|searchdomain)$/;
  const own = `/nodes/${vm.node}/qemu/${vm.vmid}/firewall`;
  const ipsets: Record<string, string[]> = {};
  for (const { name } of (await asOperator(`GET ${own}/ipset`)) as { name: string }[])
    ipsets[name] = ((await asOperator(`GET ${own}/ipset/${name}`)) as { cidr: string }[])
      .map(({ cidr }) => cidr)
      .sort();
  const { enable, macfilter, ipfilter } = await asOperator(`GET ${own}/options`);
  return {
    vmid: vm.vmid,
    running: vm.running,
    // The order in a property string is the hypervisor's own business.
    config: Object.fromEntries(
      Object.entries(vm.config)
        .filter(([key]) => about.test(key))
        .map(([key, value]) => [key, String(value).split(",").sort()]),
    ),
    drive: vm.drive?.network,
    inGuest: Object.entries(vm.guest.addresses ?? {})
      .map(([mac, all]) => `${mac} ${all.map((each) => each["ip-address"]).sort()}`)
      .sort(),
    firewall: { enable, macfilter, ipfilter, ipsets },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the hypervisor answers
async function asOperator(line: string): Promise<any> {
  const file = JSON.parse(readFileSync(path.join(world.labDirectory, "lab.json"), "utf8"));
  const answer = await call(file as Lab, line, { as: `PVEAPIToken=${file.operatorToken}` });
  if (answer.status !== 200) throw new Error(`${line}: ${answer.status} ${answer.text}`);
  return answer.data;
}

async function rebuild(server: string, name: string): Promise<void> {
  await done(
    await world.organisation.POST("/servers/{server_id}/rebuild", {
      params: { path: { server_id: server } },
      body: { image: "ubuntu-24.04", confirm_name: name },
    }),
  );
}

it("a server that was created with its addresses has the same network in all its parts", async () => {
  const { server, job } = await world.createServer("made", undefined, { public_ip: "auto" });
  expect((await world.untilDone(job.id)).status).toBe("succeeded");
  const before = await networkOf(server.id);
  const { interfaces, public_ips } = await serverOf(server.id);
  const [own] = public_ips;
  expect(before.inGuest.join()).toContain(own?.address);
  expect(before.firewall.ipsets).toMatchObject({
    "ipfilter-net0": [interfaces[0]?.private_ip],
    "ipfilter-net1": [own?.address],
  });
  await rebuild(server.id, "made");
  expect(await networkOf(server.id)).toEqual(before);
  expect(await serverOf(server.id)).toMatchObject({ status: "running", interfaces, public_ips });
}, 120_000);

it("addresses that were attached later, one of each version, are on the new VM, and nothing else is", async () => {
  const { server, job } = await world.createServer("later");
  expect((await world.untilDone(job.id)).status).toBe("succeeded");
  const addresses: string[] = [];
  for (const version of [4, 6] as const) {
    const { data: ip } = await world.organisation.POST("/public-ips", { body: { region: "lab1", version } });
    addresses.push(ip?.address ?? "");
    await done(
      await world.organisation.POST("/public-ips/{public_ip_id}/attach", {
        params: { path: { public_ip_id: ip?.id ?? "" } },
        body: { server_id: server.id },
      }),
    );
  }
  const before = await networkOf(server.id);
  const { interfaces, public_ips } = await serverOf(server.id);
  expect(public_ips.map(({ address }) => address).sort()).toEqual(addresses.sort());
  await rebuild(server.id, "later");
  const after = await networkOf(server.id);
  // The addresses of the configured guest were not on its drive. The new one was never configured and reads
  // them there.
  expect(after.config.ipconfig1?.join()).toContain(addresses[0]);
  expect(after.config.ipconfig1?.join()).toContain(addresses[1]);
  for (const address of addresses) {
    expect(after.drive).toContain(address);
    expect(after.inGuest.join()).toContain(address);
  }
  expect(after.inGuest).toEqual(before.inGuest);
  expect(after.firewall).toEqual(before.firewall);
  expect(after.firewall.ipsets["ipfilter-net1"]).toEqual(addresses.toSorted());
  expect([after.vmid, after.config.net0, after.config.net1]).toEqual([
    before.vmid,
    before.config.net0,
    before.config.net1,
  ]);
  expect(await serverOf(server.id)).toMatchObject({ status: "running", interfaces, public_ips });
  for (const ip of public_ips) {
    const path = { public_ip_id: ip.id };
    const { data } = await world.organisation.GET("/public-ips/{public_ip_id}", { params: { path } });
    expect(data).toMatchObject({
      status: "attached",
      requires_reboot: false,
      attached_to: { id: server.id },
    });
  }
  // Scans of the region find it as wanted.
  const seenAt = (await serverOf(server.id)).observed_at ?? "";
  await expect
    .poll(async () => ((await serverOf(server.id)).observed_at ?? "") > seenAt, {
      timeout: 40_000,
      interval: 300,
    })
    .toBe(true);
  const { data: drift } = await world.operator.GET("/operator/drift", {});
  expect(drift?.items.filter(({ server_id }) => server_id === server.id)).toEqual([]);

  // One that is detached before a rebuild does not return with it.
  const four = public_ips.find(({ version }) => version === 4);
  await done(
    await world.organisation.POST("/public-ips/{public_ip_id}/detach", {
      params: { path: { public_ip_id: four?.id ?? "" } },
    }),
  );
  await rebuild(server.id, "later");
  const left = await networkOf(server.id);
  expect(JSON.stringify(left)).not.toContain(four?.address);
  expect(left.inGuest.join()).toContain(public_ips.find(({ version }) => version === 6)?.address);
}, 180_000);
