import { setTimeout as delay } from "node:timers/promises";
import { Holder } from "@kule/lab/wires/holder";
import { probeWires } from "@kule/lab/wires/wires";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestProcess } from "../child-process.ts";
import type { LabEdge } from "../lab-region-file.ts";
import { requirePart } from "../parts.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { probeSshd, type Sshd, startSshd } from "../rig/sshd.ts";

const part = await requirePart(
  "an edge over SSH",
  async () => probeSshd() ?? (await probeWires()),
  import.meta.filename,
);
const region = "lab1";
const beyond = "198.51.100.1";
/** In the subnets `app` and `data`. */
const machines = { web: "10.0.1.9", db: "10.0.2.9" } as const;
type Machine = keyof typeof machines;

/** From the public API to packets: the agent that ships reaches a machine by OpenSSH, and nothing here is simulated. */
describe.skipIf(part.missing)("a region's edge behind OpenSSH", { timeout: 120_000 }, () => {
  let holder: Holder;
  let sshd: Sshd;
  let world: RegionWorld;
  let agent: TestProcess;
  let network: string;
  const subnets: string[] = [];

  beforeAll(async () => {
    holder = await Holder.start();
    await layInternet(holder);
    sshd = await startSshd(holder.enter());
    // The machine may be busy, and each command waits for the one before.
    world = await startRegionWorld({ leaseSeconds: 60 });
    await giveAddresses(world);
  }, 120_000);
  afterAll(async () => {
    await world?.end();
    await sshd?.end();
    await holder?.end();
  });

  const place = (hostKey = sshd.hostKey): LabEdge => ({
    host: "127.0.0.1",
    port: sshd.port,
    user: "root",
    host_key: hostKey,
    key_file: sshd.keyFile,
  });
  const startAgent = (edge: LabEdge) => {
    agent = world.startAgent({ KULE_AGENT_HEALTH_SECONDS: "1" }, { edge });
  };

  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 40_000;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what} never came\n${world.outputs()}`);
      await delay(100);
    }
  }

  /** Until health reports show it for the edge. */
  const untilEdge = (reachable: boolean) =>
    until(`an edge that is ${reachable ? "" : "un"}reachable`, async () => {
      const { data } = await world.operator.GET("/regions/{region}", { params: { path: { region } } });
      return data?.edge?.reachable === reachable;
    });

  /** Until the network is applied to the edge, and confirmed. */
  const untilApplied = () =>
    until("the network at the edge", async () => {
      if ((await namespaces()).length === 0) return false;
      const { data } = await world.organisation.GET("/networks/{network_id}", {
        params: { path: { network_id: network } },
      });
      return data?.status === "active";
    });

  async function done(answer: { readonly data?: unknown; readonly error?: unknown }): Promise<void> {
    const job = (answer.data as { readonly job?: { readonly id: string } | null } | undefined)?.job;
    if (job == null) throw new Error(JSON.stringify(answer.error ?? answer.data));
    expect(await world.untilDone(job.id)).toMatchObject({
      kind: "NetworkApply",
      status: "succeeded",
      error: null,
    });
  }

  const namespaces = async () =>
    (JSON.parse((await holder.run(["ip", "-j", "netns", "list"])) || "[]") as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => name.startsWith("kule-"));

  /** A machine at the bridge of its subnet's VLAN, as a server is. */
  async function plugIn(name: Machine): Promise<void> {
    const address = machines[name];
    const router = address.replace(/\d+$/, "1");
    const links = await holder.run(["ip", "-j", "-n", `kule-${network}`, "addr", "show"]);
    const link = (JSON.parse(links) as { ifname: string; addr_info: { local: string }[] }[]).find((each) =>
      each.addr_info.some(({ local }) => local === router),
    );
    await lay(holder, [
      `ip netns add ${name}`,
      `ip link add name ${name} type veth peer name eth0 netns ${name}`,
      `ip link set dev ${name} master vmbr1v${link?.ifname.slice(1)} up`,
      `ip -n ${name} addr add ${address}/24 dev eth0`,
      `ip -n ${name} link set dev eth0 up`,
      `ip -n ${name} route add default via ${router}`,
    ]);
  }

  /** Whether one of a few pings is answered: one alone may be lost on a busy machine. */
  const reaches = (name: Machine, address: string) =>
    holder.run(["ip", "netns", "exec", name, "ping", "-q", "-i", "0.2", "-w", "2", "-c", "1", address]).then(
      () => true,
      () => false,
    );

  test("gets networks that existed before it, and routes only between their subnets", async () => {
    const { organisation } = world;
    const made = await organisation.POST("/networks", {
      body: { name: "private", region, cidr: "10.0.0.0/16" },
    });
    network = made.data !== undefined && "network" in made.data ? made.data.network.id : "";
    for (const [tier, cidr] of [
      ["app", "10.0.1.0/24"],
      ["data", "10.0.2.0/24"],
    ] as const) {
      const { data } = await organisation.POST("/networks/{network_id}/subnets", {
        params: { path: { network_id: network } },
        body: { name: tier, tier, cidr },
      });
      subnets.push(data !== undefined && "subnet" in data ? data.subnet.id : "");
    }
    startAgent(place());
    await untilEdge(true);
    await untilApplied();
    expect(await namespaces()).toEqual([`kule-${network}`]);
    await plugIn("web");
    await plugIn("db");
    expect(await reaches("web", machines.db)).toBe(true);
    expect(await reaches("web", beyond)).toBe(false);
  });

  test("gives internet access to what its gateway serves, and never to data", async () => {
    const { organisation } = world;
    const gateway = await organisation.POST("/gateways", {
      body: { name: "out", network_id: network, subnet_ids: subnets.slice(0, 1) },
    });
    await done(gateway);
    expect(await reaches("web", beyond)).toBe(true);
    expect(await reaches("db", beyond)).toBe(false);
  });

  test("gets no command under another key than the pinned one, and all under its own", async () => {
    const { organisation } = world;
    await agent.end();
    startAgent(place(`SHA256:${"A".repeat(43)}`));
    await untilEdge(false);
    const { data } = await organisation.GET("/gateways", {});
    const removed = await organisation.DELETE("/gateways/{gateway_id}", {
      params: { path: { gateway_id: data?.items[0]?.id ?? "" } },
    });
    const job = removed.data?.job?.id ?? "";
    await until("an attempt in vain", async () => {
      const { data: tried } = await organisation.GET("/jobs/{job_id}", {
        params: { path: { job_id: job }, query: { wait: 1 } },
      });
      return tried?.error?.code === "edge_unreachable";
    });
    expect(await reaches("web", beyond)).toBe(true);

    await agent.end();
    startAgent(place());
    await done(removed);
    expect(await reaches("web", beyond)).toBe(false);
    expect(await reaches("web", machines.db)).toBe(true);
  });

  test("is left as it was found, and the key is in no log", async () => {
    const { organisation } = world;
    for (const subnet_id of subnets)
      await organisation.DELETE("/networks/{network_id}/subnets/{subnet_id}", {
        params: { path: { network_id: network, subnet_id } },
      });
    await done(
      await organisation.DELETE("/networks/{network_id}", { params: { path: { network_id: network } } }),
    );
    expect(await namespaces()).toEqual([]);
    const [, secret = "no key"] = sshd.key.split("\n");
    expect(world.outputs()).not.toContain(secret);
  });
});

async function lay(holder: Holder, lines: readonly string[]): Promise<void> {
  for (const line of lines) await holder.run(line.split(" "));
}

/** Beyond the edge's uplink: the next hop, and a machine behind it. */
function layInternet(holder: Holder): Promise<void> {
  return lay(holder, [
    "ip link add name vmbr0v10 type bridge",
    "ip link set dev vmbr0v10 up",
    "ip netns add internet",
    "ip link add name inet0 type veth peer name eth0 netns internet",
    "ip link set dev inet0 master vmbr0v10 up",
    "ip -n internet addr add 203.0.113.1/24 dev eth0",
    "ip -n internet link set dev lo up",
    `ip -n internet addr add ${beyond}/32 dev lo`,
    "ip -n internet link set dev eth0 up",
  ]);
}

async function giveAddresses({ operator, organisation }: RegionWorld): Promise<void> {
  const { data: pool } = await operator.POST("/ip-pools", {
    body: { region, name: "public", gateway: "203.0.113.1", prefix_length: 24 },
  });
  const path = { ip_pool_id: pool?.id ?? "" };
  await operator.POST("/ip-pools/{ip_pool_id}/ranges", {
    params: { path },
    body: { cidr: "203.0.113.32/28" },
  });
  const { data: me } = await organisation.GET("/organisation", {});
  const given = await operator.POST("/ip-pools/{ip_pool_id}/allocations", {
    params: { path },
    body: { organisation_id: me?.id ?? "", count: 1 },
  });
  expect(given.response.status).toBe(201);
}
