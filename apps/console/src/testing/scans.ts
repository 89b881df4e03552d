import { type SeenVm, seenAs, TestScanner } from "@kule/api/testing/test-scanner";
import { done, type SceneApi } from "./scene-api.ts";

export type SeenServer = {
  readonly id: string;
  readonly vmid: number;
  /** Its VM as a scan reports it: as it is to be, but for what is given. */
  vm(more?: Partial<SeenVm>): SeenVm;
};

/** Creates a server, which runs then. */
export async function createSeen(api: SceneApi, name: string, more: object = {}): Promise<SeenServer> {
  const body = { name, region: "ist1", image: "ubuntu-24.04", package: "m", ...more };
  const { server } = await done(api.acme.post("/servers", body));
  const job = (await api.agent.work()).find(({ kind }) => kind === "ServerCreate");
  if (job === undefined) throw new Error("no agent has created the server");
  return { id: server.id, vmid: job.payload.vmid, vm: (more = {}) => seenAs(job, more) };
}

/** A VM that Kule did not create, with one of the region's numbers. */
export function foreignVm(vmid: number, name = `vm-${vmid}`): SeenVm {
  return {
    ...{ vmid, node: "pve1", type: "qemu", state: "seen", seen_after_ms: 0, power: "off", marker: null },
    ...{ name, template: false, tags: [], pool: null, lock: null, vcpu: 2, memory_mb: 4096 },
    ...{ disk_bytes: 80 * 2 ** 30, interfaces: [] },
    guest: { agent: false },
  };
}

/**
 * Scans the region twice: after the second scan its differences from the records are reported. What is looked for and
 * not among these VMs is missing.
 */
export async function scan(api: SceneApi, vms: readonly SeenVm[], end: object = {}): Promise<void> {
  const scanner = await openScanner(api);
  await scanner.look(vms, end);
  await scanner.look(vms, end);
}

/** The same, but only these numbers are missing: other servers are neither found nor missing. */
export async function scanSome(
  api: SceneApi,
  vms: readonly SeenVm[],
  missing: readonly number[] = [],
): Promise<void> {
  const scanner = await openScanner(api);
  const absent = missing.map((vmid) => ({ vmid, seen_after_ms: 0 }));
  for (let times = 1; times <= 2; times++) await report(scanner, { vms, absent, end: { complete: true } });
}

/** A scan that could not ask everything, and so shows nothing as missing. */
export async function scanInPart(api: SceneApi, trouble: string): Promise<void> {
  await report(await openScanner(api), { end: { complete: false, trouble } });
}

/** As the agent that scanned the region last: another one would have to wait. */
async function openScanner(api: SceneApi): Promise<TestScanner> {
  const [last] = await api.sql("select agent_run from region_inventory where region = 'ist1'");
  return new TestScanner(api.agent.api, last?.agent_run);
}

async function report(scanner: TestScanner, batch: object): Promise<void> {
  const { pass } = await scanner.begin();
  if (pass === null) throw new Error("another agent scans the region");
  await scanner.batch(pass, 0, batch);
}

/** For the end of a scan: a region of one node, of whose 512 GB others use all but so many. */
export function capacityWith(freeGb: number) {
  const [all, others] = [512 * 2 ** 30, (512 - freeGb) * 2 ** 30];
  const memory = { memory_bytes: all, memory_used_bytes: others, others_memory_bytes: others };
  return {
    nodes: [{ name: "pve1", online: true, maintenance: false, cpus: 64, ...memory, others_vcpu: 0 }],
    storages: [{ name: "ceph-vm", node: null, total_bytes: 2 ** 45, used_bytes: 0 }],
    images: [{ image: "ubuntu-24.04", nodes: ["pve1"] }],
  };
}
