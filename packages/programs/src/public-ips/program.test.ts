import type { PayloadOf } from "@kule/contract/schemas";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Failed } from "../errors.ts";
import type { Job } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import {
  createJob,
  endState,
  type LabRegion,
  quietHost,
  startLabRegion,
  stepsDone,
} from "../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";
import type { PublicIpPayload } from "./plan.ts";
import { attachPublicIp, detachPublicIp } from "./program.ts";

let region: LabRegion;
let nextVmid = 20_400;
const newVmid = () => nextVmid++;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

/** The same for all, as with the private interface: what differs by nature between two VMs could not be compared. */
const MAC = "0a:01:00:00:4f:01";
const effect = {
  jobId: "job_test",
  beforeCall: async () => {},
  afterObservation: async () => {},
  answered: async () => {},
  taskStarted: async () => {},
  stillRunning: async () => {},
  note: () => {},
};
const four = { version: 4, address: "203.0.113.10", prefix_length: 24, gateway: "203.0.113.1" } as const;
const six = { version: 6, address: "2001:db8::10", prefix_length: 64, gateway: "2001:db8::1" } as const;
type Address = typeof four | typeof six;

const outside = (addresses: readonly Address[] = [four]) => ({
  mac: MAC,
  vlan: null,
  addresses: [...addresses],
});

/** A server that runs, with or without public addresses from the beginning. */
async function make(vmid: number, more: Parameters<typeof createJob>[1] = {}) {
  const job = createJob(vmid, more);
  await runProgram(createServer, job, region.world, quietHost());
  return job.payload;
}

function jobFor(
  made: Awaited<ReturnType<typeof make>>,
  addresses: readonly Address[],
  guest_network: PublicIpPayload["guest_network"] = "netplan",
): Job<PublicIpPayload> {
  const leadsOut = addresses.includes(four);
  return {
    id: `job_ip_${made.vmid}`,
    payload: {
      kind: "PublicIpAttach",
      server: made.server,
      vmid: made.vmid,
      interfaces: made.interfaces.map((each) => ({ ...each, gateway: leadsOut ? null : "10.20.0.1" })),
      public_interface: addresses.length === 0 ? null : outside(addresses),
      guest_network,
    },
  };
}

async function attach(job: Job<PublicIpPayload>, host = quietHost()) {
  const observed = await runProgram(attachPublicIp, job as never, region.world, host);
  return { observed, steps: stepsDone(host.events) };
}
async function detach(job: Job<PublicIpPayload>, host = quietHost()) {
  const observed = await runProgram(detachPublicIp, job as never, region.world, host);
  return { observed, steps: stepsDone(host.events) };
}

/** The addresses that the guest reports for its public interface. */
async function shown(vmid: number): Promise<readonly string[] | undefined> {
  const guest = await region.world.hypervisor.guestInterfaces({ vmid, node: "pve1" });
  return guest?.find((each) => each.mac === MAC)?.addresses;
}
const vmOf = (vmid: number) => region.lab.control.vm(vmid);
const ipset = async (vmid: number) =>
  ((await endState(region, vmid)) as { firewall: { ipsets: Record<string, string[]> } }).firewall.ipsets;

describe("A public address", { timeout: 60_000 }, () => {
  it("that a server is created with is on its second interface, in its filter and in its guest", async () => {
    const vmid = newVmid();
    await make(vmid, { public_interface: outside([four, six]) });
    expect(vmOf(vmid)?.config).toMatchObject({
      net1: `virtio=${MAC.toUpperCase()},bridge=vmbr0,firewall=1,tag=10`,
      ipconfig1: "ip=203.0.113.10/24,gw=203.0.113.1,ip6=2001:db8::10/64,gw6=2001:db8::1",
    });
    expect(await ipset(vmid)).toEqual({
      "ipfilter-net0": ["10.20.0.5"],
      "ipfilter-net1": ["2001:db8::10", "203.0.113.10"],
    });
    expect(await shown(vmid)).toEqual(["203.0.113.10/24", "2001:db8::10/64"]);
  });

  it("that two servers share is in the filters of both, and in no guest's configuration", async () => {
    const vmid = newVmid();
    const shared = { ...outside([]), additional_addresses: [four.address] };
    const made = await make(vmid, { public_interface: shared });
    expect(vmOf(vmid)?.config).toMatchObject({
      net1: `virtio=${MAC.toUpperCase()},bridge=vmbr0,firewall=1,tag=10`,
      // The link's own, so that cloud-init names the interface and opens it.
      ipconfig1: "ip6=fe80::801:ff:fe00:4f01/64",
    });
    expect(await ipset(vmid)).toEqual({
      "ipfilter-net0": ["10.20.0.5"],
      "ipfilter-net1": ["203.0.113.10"],
    });
    expect(await shown(vmid)).toEqual([]);
    const again = quietHost();
    await runProgram(createServer, { id: `job_${vmid}`, payload: made } as never, region.world, again);
    expect(stepsDone(again.events)).toEqual([]);
  });

  it("is configured in a running guest, which keeps its host keys", async () => {
    const vmid = newVmid();
    const made = await make(vmid);
    const { observed, steps } = await attach(jobFor(made, [four]));
    expect(steps).toEqual(["firewall", "configure", "open-link", "tell-guest"]);
    expect(observed).toMatchObject({ power_state: "on", public_network: "applied" });
    expect(await shown(vmid)).toEqual(["203.0.113.10/24"]);
    // Cloud-init's keys were left alone: another instance id would make it start again.
    expect(vmOf(vmid)?.config).not.toHaveProperty("ipconfig1");
    expect(vmOf(vmid)?.guest.files?.["/etc/netplan/90-kule-public.yaml"]).toContain('"to":"0.0.0.0/1"');
    const { hypervisor } = region.world;
    const owner = { serverId: `srv_${vmid}`, region: "lab1" };
    await hypervisor.stop(vmid, owner, effect);
    await hypervisor.start(vmid, owner, effect);
    expect(vmOf(vmid)?.guest.firstBoots).toBe(1);
    expect(await shown(vmid)).toEqual(["203.0.113.10/24"]);
    expect((await attach(jobFor(made, [four]))).steps).toEqual([]);
  });

  it("leaves the guest's network to its private interface, by its routes or by its prefix", async () => {
    const vmid = newVmid();
    const network_cidr = "10.20.0.0/16";
    const inNetwork = (payload: PayloadOf<"ServerCreate">, gateway: string | null) =>
      payload.interfaces.map((each) => ({ ...each, network_cidr, gateway }));
    const { payload } = createJob(vmid);
    const made = await make(vmid, { interfaces: inNetwork(payload, "10.20.0.1") });
    const job = jobFor(made, [four]);
    expect((await attach(job)).observed.public_network).toBe("applied");
    // Configured by its agent: other destinations leave by the public interface, and the network stays where
    // the default route leads.
    const { routes, files } = vmOf(vmid)?.guest ?? {};
    expect(routes?.["bc:24:11:00:00:0a"]).toEqual([{ to: "0.0.0.0/0", via: "10.20.0.1" }]);
    const out = (routes?.[MAC] ?? []).map(({ to }) => to);
    expect(out).toHaveLength(16);
    expect(out).toContain("10.21.0.0/16");
    expect(out).not.toContain("10.20.0.0/16");
    expect(Object.keys(files ?? {})).toEqual(["/etc/netplan/90-kule-public.yaml"]);
    expect(vmOf(vmid)?.config.ipconfig0).toBe("ip=10.20.0.5/24,gw=10.20.0.1");
    await detach(jobFor(made, []));
    expect(vmOf(vmid)?.guest.routes?.["bc:24:11:00:00:0a"]).toEqual([{ to: "0.0.0.0/0", via: "10.20.0.1" }]);
    // Configured by its drive, which can name one default gateway and no route: the network is on the private
    // link.
    const another = newVmid();
    const outward = { interfaces: inNetwork(payload, null), public_interface: outside([four]) };
    const made2 = await make(another, outward);
    expect(vmOf(another)?.config.ipconfig0).toBe("ip=10.20.0.5/16");
    expect((await attach(jobFor(made2, [four]))).steps).toEqual([]);
    expect((await detach(jobFor(made2, []))).steps).toContain("write-drive");
    expect(vmOf(another)?.config.ipconfig0).toBe("ip=10.20.0.5/24,gw=10.20.0.1");
  });

  it("is configured again in a guest that has the routes of an earlier release, or others", async () => {
    const vmid = newVmid();
    const made = await make(vmid);
    await attach(jobFor(made, [four]));
    const interfaces = made.interfaces.map((each) => ({ ...each, network_cidr: "10.20.0.0/16" }));
    const job = jobFor({ ...made, interfaces }, [four]);
    expect((await attach(job)).steps).toEqual(["tell-guest"]);
    expect(vmOf(vmid)?.guest.files?.["/etc/netplan/90-kule-public.yaml"]).toContain('"to":"10.21.0.0/16"');
    expect((await attach(job)).steps).toEqual([]);
  });

  it("has its filter before it has its interface, and loses the interface before the filter", async () => {
    const vmid = newVmid();
    const made = await make(vmid);
    const from = region.lab.journal().length;
    await attach(jobFor(made, [four]));
    await detach(jobFor(made, []));
    const ops = region.lab
      .journal()
      .slice(from)
      .filter((entry) => entry.vmid === vmid)
      .map(({ op }) => op)
      .filter((op) => op.startsWith("firewall") || op === "config-changed");
    expect(ops[0]).toMatch(/^firewall/);
    expect(ops.at(-1)).toMatch(/^firewall/);
    expect(ops.indexOf("config-changed")).toBeGreaterThan(0);
    expect(await ipset(vmid)).toEqual({ "ipfilter-net0": ["10.20.0.5"] });
    expect(vmOf(vmid)?.config).not.toHaveProperty("net1");
    expect(vmOf(vmid)?.guest.files).toEqual({});
  });

  it("waits for the next boot where no agent answers, and is configured after it", async () => {
    const vmid = newVmid();
    const made = await make(vmid);
    region.lab.faults.tasks.agentless.add(vmid);
    const { observed, steps } = await attach(jobFor(made, [four]));
    expect(observed.public_network).toBe("next_boot");
    expect(steps).toEqual(["firewall", "configure", "open-link", "write-drive"]);
    region.lab.faults.tasks.agentless.delete(vmid);
    expect(await shown(vmid)).toEqual([]);
    const owner = { serverId: `srv_${vmid}`, region: "lab1" };
    await region.world.hypervisor.reset(vmid, owner, null, effect);
    expect(await shown(vmid)).toEqual(["203.0.113.10/24"]);
    expect((await attach(jobFor(made, [four]))).observed.public_network).toBe("applied");
  });

  it("waits for the next boot where the guest does not apply it", async () => {
    const vmid = newVmid();
    // A profile for NetworkManager, in a guest that has netplan.
    const made = await make(vmid);
    const { observed, steps } = await attach(jobFor(made, [four], "network_manager"));
    expect(steps).toEqual(["firewall", "configure", "open-link", "tell-guest", "write-drive"]);
    expect(observed.public_network).toBe("next_boot");
    expect(vmOf(vmid)?.config.ipconfig1).toBe("ip=203.0.113.10/24,gw=203.0.113.1");
  });

  it("is configured by NetworkManager where the image has it, and at the next boot on Windows", async () => {
    const rocky = await startLabRegion({ templates: { "ubuntu-24.04": { vmid: 9004 } } });
    const job = createJob(20_001);
    await runProgram(createServer, job, rocky.world, quietHost());
    const wish = jobFor(job.payload, [four, six], "network_manager");
    const observed = await runProgram(attachPublicIp, wish as never, rocky.world, quietHost());
    expect(observed.public_network).toBe("applied");
    await runProgram(
      detachPublicIp,
      jobFor(job.payload, [], "network_manager") as never,
      rocky.world,
      quietHost(),
    );
    expect(rocky.lab.control.vm(20_001)?.config).not.toHaveProperty("net1");
    await rocky.stop();
    const vmid = newVmid();
    const made = await make(vmid);
    expect((await attach(jobFor(made, [four], "none"))).observed.public_network).toBe("next_boot");
  });

  it("of a stopped server is on its drive, for the start", async () => {
    const vmid = newVmid();
    const made = await make(vmid, { start: false });
    const { observed, steps } = await attach(jobFor(made, [four]));
    expect(steps).toEqual(["firewall", "configure", "open-link"]);
    expect(vmOf(vmid)?.config.net1).not.toContain("link_down");
    expect(observed).toMatchObject({ power_state: "off", public_network: "applied" });
    expect(vmOf(vmid)?.config.ipconfig1).toBe("ip=203.0.113.10/24,gw=203.0.113.1");
  });

  it("replaces another, which can no longer be used", async () => {
    const vmid = newVmid();
    const made = await make(vmid);
    await attach(jobFor(made, [four]));
    await attach(jobFor(made, [six]));
    expect(await ipset(vmid)).toMatchObject({ "ipfilter-net1": ["127.0.0.1", "2001:db8::10"] });
    expect(await shown(vmid)).toEqual(["2001:db8::10/64"]);
  });

  it("of a deleted server cannot be detached, nor attached", async () => {
    const vmid = newVmid();
    const made = createJob(vmid).payload;
    expect((await detach(jobFor(made, []))).observed).toEqual({ power_state: "off" });
    await expect(attach(jobFor(made, [four]))).rejects.toThrow(Failed);
  });

  it("needs a region with a public network", async () => {
    const without = await startLabRegion({ publicNetwork: null });
    const job = createJob(20_001);
    await runProgram(createServer, job, without.world, quietHost());
    await expect(
      runProgram(attachPublicIp, jobFor(job.payload, [four]) as never, without.world, quietHost()),
    ).rejects.toThrow(/no_public_network/);
    await without.stop();
  });

  it.each([
    ["attach", "told"],
    ["attach", "not told"],
    ["detach", "told"],
  ] as const)(
    "survives a crash anywhere in an %s, the guest being %s",
    async (what, told) => {
      const points = await survivesACrashAnywhere(async () => {
        const vmid = newVmid();
        const made = await make(vmid);
        if (told === "not told") region.lab.faults.tasks.agentless.add(vmid);
        if (what === "detach") await attach(jobFor(made, [four]));
        const before = region.effects(vmid);
        return {
          run: async (at: (name: string) => void) => {
            const host = quietHost({ crashPoint: at });
            await (what === "attach" ? attach(jobFor(made, [four]), host) : detach(jobFor(made, []), host));
          },
          state: async () => {
            const end = (await endState(region, vmid)) as { vm: { process: unknown } };
            // Each VM has a process of its own.
            return { ...end, vm: { ...end.vm, process: null }, shown: await shown(vmid) };
          },
          effects: async () => {
            const { "guest-exec": _told, ...now } = region.effects(vmid);
            return Object.fromEntries(Object.entries(now).map(([op, n]) => [op, n - (before[op] ?? 0)]));
          },
        };
      });
      const kind = what === "attach" ? "PublicIpAttach" : "PublicIpDetach";
      expect(points).toContain(`${kind}.configure.before-send`);
      expect(points).toContain(`${kind}.firewall.effect-done`);
    },
    120_000,
  );
});
