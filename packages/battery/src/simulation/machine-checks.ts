// What must hold for a server's VM when nothing is left to do: the requested size, with its one disk, its
// name, and a public interface exactly when an address is attached.

import type { ServerJobKind } from "@kule/contract/schemas";
import type { VmDocument } from "@kule/lab/documents";
import { parseMarker } from "@kule/proxmox/marker";
import { macAddress } from "@kule/rules/servers/mac";
import { diskOf, packageOf } from "../reference-model/model-state.ts";
import type { ModelServer } from "../reference-model/types.ts";
import { macOf } from "./payloads.ts";
import type { Simulation } from "./simulation.ts";

const GIB = 2 ** 30;
const DISK = /^(scsi|virtio|sata|ide)\d+$/;

export function checkMachine(
  simulation: Simulation,
  server: ModelServer,
  vm: VmDocument,
  note: (text: string) => void,
): void {
  const { config } = vm;
  const newest = (kinds: readonly ServerJobKind[]) =>
    server.jobs.findLast((job) => kinds.includes(job.kind))?.status ?? null;
  /** What a job has not completed may be half done; and there may have been none. */
  const isSettled = (...kinds: ServerJobKind[]) => [null, "succeeded"].includes(newest(kinds));
  if (!isSettled("ServerRebuild")) {
    // Half of a machine: with the template's interfaces, in no VLAN and behind no filter.
    if (vm.process !== null && !config.tags?.includes(server.id.toLowerCase()))
      note("I3: half a machine runs");
    return;
  }
  const isMadeByHand = newest(["ServerAdopt"]) !== null;
  const isOurs = !isMadeByHand || newest(["ServerRebuild"]) === "succeeded";

  if (!config.net0?.toLowerCase().includes(macOf(server, vm.vmid))) note("I3: the VM has another MAC");
  if (isOurs && !config.ipconfig0?.includes(`ip=10.20.0.${server.host}/`))
    note("I3: the VM has another address");
  if (isOurs && config.protection !== "1") note("I3: the VM is not protected");
  if (isSettled("ServerUpdate") && config.name !== server.name) note(`I3: the VM is called ${config.name}`);

  const disks = Object.keys(config).filter((key) => DISK.test(key) && !config[key]?.includes("media=cdrom"));
  if (disks.length !== 1) note(`I3: the VM has ${disks.length} disks`);
  const values = Object.values(config);
  const loose = simulation.region
    .volumesOf(vm.vmid)
    .filter((volume) => !values.some((value) => value.includes(volume)));
  if (loose.length > 0) note(`I3: nobody refers to ${loose.join(", ")}`);

  if (!isSettled("ServerResize") || !(isOurs || newest(["ServerResize"]) === "succeeded")) return;
  const { vcpu, memoryMb } = packageOf(server.package);
  if (Number(config.cores) * Number(config.sockets ?? 1) !== vcpu)
    note(`I3: the VM has ${config.cores} cores`);
  if (Number(config.memory) !== memoryMb) note(`I3: the VM has ${config.memory} MB`);
  const waiting = ["cores", "sockets", "memory"].filter((key) => vm.process !== null && key in vm.pending);
  if (waiting.length > 0) note(`I3: the VM still waits for a start to have its ${waiting.join(", ")}`);
  const bytes = bytesOf(simulation, config[disks[0] ?? ""]);
  // A resize that was superseded after it had grown the disk cannot make it smaller again.
  const mayBeLarger = server.jobs.some((job) => job.kind === "ServerResize" && job.status !== "succeeded");
  const isRight = mayBeLarger ? bytes >= diskOf(server) * GIB : bytes === diskOf(server) * GIB;
  if (!isRight) note(`I3: the VM's disk has ${bytes / GIB} GiB`);
}

function bytesOf({ region }: Simulation, drive = ""): number {
  const [volid = ""] = drive.split(",");
  return region.region.store.get("volume", volid)?.sizeBytes ?? 0;
}

/** A wanted address is on its server, and nowhere else. */
export function checkPublicIps(simulation: Simulation): void {
  const { model, region } = simulation;
  const { state } = model;
  for (const ip of state.ips) {
    const { address } = ip.address;
    const note = (text: string) => simulation.violation(`${text}: ${address}`);
    const holders = region.vms().filter((vm) => vm.config.ipconfig1?.includes(`ip=${address}/`));
    for (const vm of holders) {
      const allocation = state.vmids.get(vm.vmid);
      if (
        allocation?.state === "quarantined" ||
        parseMarker(vm.config.description)?.serverId === ip.heldBy?.id
      )
        continue;
      note(`I4: VM ${vm.vmid} has an address that is not its server's`);
    }
    const isOnItsWay = ip.wantedBy !== ip.heldBy || (ip.wantedBy !== null && !ip.isApplied);
    const status = ip.heldBy?.status;
    const canMove = status === "running" || status === "stopped";
    if (isOnItsWay && canMove && ip.reason === null)
      note("I5: an address is on its way and no job takes it there");
    for (const server of [ip.wantedBy, ip.heldBy])
      if (server?.status === "deleted") note(`I4: an address is still ${server.id}'s, which is gone`);
  }
  for (const server of state.servers) checkOutside(simulation, server);
}

/** The public interface exists when an address is attached, and not when none is. */
function checkOutside(simulation: Simulation, server: ModelServer): void {
  const { state } = simulation.model;
  const note = (text: string) => simulation.violation(`${text}: ${server.id} (${server.status})`);
  if (server.status !== "running" && server.status !== "stopped") return;
  const vmid = state.vmidOf(server);
  const vm = vmid === null ? undefined : simulation.region.vm(vmid);
  if (vmid === null || vm === undefined) return;
  const ips = state.ips.filter((ip) => ip.wantedBy === server || ip.heldBy === server);
  const attached = ips.filter((ip) => ip.wantedBy === server && ip.heldBy === server && ip.isApplied);
  const device = vm.config.net1?.toLowerCase();
  const mac = macAddress(1, vmid, 1);
  if (attached.length > 0 && device === undefined) note("I3: an address is attached to no interface");
  if (attached.length > 0 && device?.includes(mac) === false)
    note("I3: the public interface has another MAC");
  // An address that a failed job was to attach or to detach may be there or not.
  const isSettled = ips.length === attached.length && isLastSucceeded(server);
  if (isSettled && attached.length === 0 && device !== undefined)
    note("I3: there is a public interface for no address");
}

/** Nothing of its interfaces was left half done by a job that did not succeed. */
function isLastSucceeded({ jobs }: ModelServer): boolean {
  const kinds: readonly ServerJobKind[] = ["PublicIpAttach", "PublicIpDetach", "ServerRebuild"];
  const last = jobs.findLast((job) => kinds.includes(job.kind));
  return last === undefined || last.status === "succeeded";
}

/** The region has confirmed that a foreign VM is the server's now. */
export function wasTakenOver(server: ModelServer | undefined): boolean {
  return server?.jobs.some((job) => job.kind === "ServerAdopt" && job.status === "succeeded") === true;
}

/** An adopted VM is as its owner had created it. */
export function checkMadeByHand(simulation: Simulation): void {
  const { model, region, witness } = simulation;
  for (const [vmid, made] of witness.madeByHand) {
    const server = model.state.vmids.get(vmid)?.server;
    const isRebuilt = server?.jobs.some((job) => job.kind === "ServerRebuild" && job.attempt > 0);
    const isGone = server?.status === "deleted" || server?.status === "deleting";
    if (wasTakenOver(server) && (isGone || isRebuilt)) continue;
    const vm = region.vm(vmid);
    if (vm === undefined) simulation.violation(`I2: VM ${vmid}, made by hand, is gone`);
    else if (vm.config.net0 !== made.net0)
      simulation.violation(`I2: VM ${vmid}, made by hand, has another MAC`);
    else if (vm.config.scsi0?.split(",")[0] !== made.scsi0.split(",")[0])
      simulation.violation(`I2: VM ${vmid}, made by hand, has another disk`);
  }
}
