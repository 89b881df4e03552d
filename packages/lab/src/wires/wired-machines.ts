import type { FirewallDocument, GuestRoute, VmDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { isWindows } from "../vm/cloud-init.ts";
import { parseNet } from "../vm/networks.ts";

/** A network device of a running machine, and what it is plugged into. */
export type Wire = {
  readonly vmid: number;
  /** The 0 of net0; the guest calls it eth0. */
  readonly index: number;
  /** In lower case. */
  readonly mac: string;
  /** A bridge of the cluster, e.g. "vmbr1"; `vlan` of it. */
  readonly bridge: string;
  readonly vlan: number | null;
  /** Whether the device is behind the VM's firewall. */
  readonly firewall: boolean;
  readonly up: boolean;
  /** The addresses that the guest has configured; none until it has booted. */
  readonly addresses: readonly string[];
  readonly routes: readonly GuestRoute[];
};

export type WiredMachine = {
  readonly vmid: number;
  /** Another one after each start of the guest: manual settings are lost then. */
  readonly boot: string;
  /**
   * The machine's id of root in a guest that really boots, which configures its network itself; null for a
   * simulated one.
   */
  readonly firstId: number | null;
  readonly wires: readonly Wire[];
};

/** A Linux machine's name for an interface has 15 characters. */
export const bridgeOf = ({ bridge, vlan }: Pick<Wire, "bridge" | "vlan">): string =>
  vlan === null ? bridge : `${bridge}v${vlan}`;

/** When the guest has booted far enough to have a network, in milliseconds since the epoch; null while it is off. */
export function networkAtMs(vm: VmDocument, timeScale: number): number | null {
  if (vm.process === null) return null;
  const boot = isWindows(vm.config) ? seconds.networkBootWindows : seconds.networkBootLinux;
  return vm.process.guestBootAt + boot * timeScale * 1000;
}

/**
 * The running machines, with the wires that they need. A paused one keeps its wires: only its guest does not
 * answer.
 */
export function wiredMachines(
  vms: readonly VmDocument[],
  now: { readonly nowMs: number; readonly timeScale: number },
  firstIdOf: (vm: VmDocument) => number | null,
): WiredMachine[] {
  return vms.flatMap((vm) => {
    const upAtMs = networkAtMs(vm, now.timeScale);
    if (vm.process === null || upAtMs === null) return [];
    const boot = `${vm.process.startedAt}-${vm.process.guestBootAt}`;
    const firstId = firstIdOf(vm);
    const isConfigured = firstId === null && now.nowMs >= upAtMs;
    return { vmid: vm.vmid, boot, firstId, wires: wiresOf(vm, isConfigured) };
  });
}

function wiresOf(vm: VmDocument, hasBooted: boolean): Wire[] {
  return Object.entries(vm.config)
    .filter(([key]) => /^net\d+$/.test(key))
    .flatMap(([key, value]): Wire[] => {
      const net = parseNet(value);
      if (net.bridge === undefined || net.macaddr === undefined) return [];
      const mac = net.macaddr.toLowerCase();
      return [
        {
          vmid: vm.vmid,
          index: Number(key.slice(3)),
          mac,
          bridge: net.bridge,
          vlan: net.tag === undefined ? null : Number(net.tag),
          firewall: net.firewall === "1",
          up: net.link_down !== "1",
          addresses: hasBooted
            ? (vm.guest.addresses?.[mac] ?? []).map((each) => `${each["ip-address"]}/${each.prefix}`)
            : [],
          routes: hasBooted ? (vm.guest.routes?.[mac] ?? []) : [],
        },
      ];
    })
    .sort((a, b) => a.index - b.index);
}

/** A wire with an enabled firewall, and the content of the VM's firewall file. */
export type FilteredWire = Pick<Wire, "vmid" | "index" | "mac"> & { readonly firewall: FirewallDocument };

/**
 * The wires that the cluster's firewall filters, running or not: its own switch, the VM's and the device's
 * are on.
 */
export function filteredWires(
  vms: readonly VmDocument[],
  isClusterOn: boolean,
  firewallOf: (vmid: number) => FirewallDocument | undefined,
): FilteredWire[] {
  if (!isClusterOn) return [];
  return vms.flatMap((vm) => {
    const firewall = firewallOf(vm.vmid);
    if (firewall?.options.enable !== "1") return [];
    return wiresOf(vm, false)
      .filter((wire) => wire.firewall)
      .map(({ vmid, index, mac }) => ({ vmid, index, mac, firewall }));
  });
}
