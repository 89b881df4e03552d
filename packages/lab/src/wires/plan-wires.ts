import { dropNamespaces, makeNamespaces } from "../real-guests/guest-scripts.ts";
import { firewallBridgeOf, tapOf } from "./firewall-rules.ts";
import { bridgeOf, type Wire, type WiredMachine } from "./wired-machines.ts";

/** A command for the holder's network: its arguments and its standard input. */
export type WireCommand = { readonly words: readonly string[]; readonly input?: string };

export const namespaceOf = (vmid: number): string => `vm${vmid}`;

/** The wire's port on its bridge: behind the firewall bridge, or the guest's own cable. */
const portOf = (wire: Wire): string => (wire.firewall ? `fwpr${wire.vmid}p${wire.index}` : tapOf(wire));

/**
 * The steps from the present wires to the wanted ones, in order: removals, then bridges, then additions. A
 * guest that has started again is recreated; one that continues keeps manual changes in it.
 */
export function planWires(laid: readonly WiredMachine[], wanted: readonly WiredMachine[]): WireCommand[] {
  const before = new Map(laid.map((machine) => [machine.vmid, machine]));
  const after = new Map(wanted.map((machine) => [machine.vmid, machine]));
  const stays = ({ vmid, boot }: WiredMachine) =>
    before.get(vmid)?.boot === boot && after.get(vmid)?.boot === boot;
  return [
    ...laid.flatMap((machine) => (stays(machine) ? [] : takeAway(machine))),
    ...bridges(laid, wanted),
    ...wanted.flatMap((machine) => {
      const old = stays(machine) ? before.get(machine.vmid) : undefined;
      return old === undefined ? bringUp(machine) : change(old, machine);
    }),
  ];
}

const host = (...lines: readonly string[]): WireCommand => ({
  words: ["ip", "-batch", "-"],
  input: lines.map((line) => `${line}\n`).join(""),
});

/** Settings of its own interfaces only, so that nothing of it reaches the host's. */
const guest = (vmid: number, ...lines: readonly string[]): WireCommand => ({
  words: ["ip", "-n", namespaceOf(vmid), "-batch", "-"],
  input: lines.map((line) => `${line}\n`).join(""),
});

/** Removes a machine with its cables. */
export function takeAway({ vmid, firstId, wires }: WiredMachine): WireCommand[] {
  const words =
    firstId === null ? ["ip", "netns", "del", namespaceOf(vmid)] : ["sh", "-c", dropNamespaces(vmid)];
  return [...wires.flatMap(unplug), { words }];
}

function unplug(wire: Wire): WireCommand[] {
  return [
    host(
      `link del dev ${tapOf(wire)}`,
      ...(wire.firewall ? [`link del dev ${portOf(wire)}`, `link del dev ${firewallBridgeOf(wire)}`] : []),
    ),
  ];
}

function bridges(laid: readonly WiredMachine[], wanted: readonly WiredMachine[]): WireCommand[] {
  const names = (machines: readonly WiredMachine[]) =>
    new Set(machines.flatMap(({ wires }) => wires.map(bridgeOf)));
  return [...names(wanted).difference(names(laid))].map(makeBridge);
}

/**
 * It exists already when something else is attached to it, or was; two machines that start together may both
 * make it.
 */
export const makeBridge = (name: string): WireCommand => ({
  words: [
    "sh",
    "-ec",
    `exists() { ip link show dev ${name} >/dev/null 2>&1; }
exists || ip link add name ${name} type bridge || exists
ip link set dev ${name} up`,
  ],
});

/** As every distribution allows it; the file capability of `ping` is not one of the machine's. */
const allowPing = "echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range";

/**
 * Programs of a guest's console run as an unprivileged user here, and may ping and listen all the same, as
 * root does in a guest.
 */
export const allowUnprivilegedNetwork =
  "cd /proc/sys/net/ipv4; echo 0 2147483647 > ping_group_range; echo 0 > ip_unprivileged_port_start";

function bringUp(machine: WiredMachine): WireCommand[] {
  const { vmid, firstId, wires } = machine;
  const namespace = namespaceOf(vmid);
  if (firstId !== null)
    return [
      { words: ["sh", "-ec", makeNamespaces(vmid, firstId)] },
      { words: ["ip", "netns", "exec", namespace, "sh", "-ec", allowPing] },
      ...wires.flatMap((wire) => plug(wire, machine)),
    ];
  return [
    { words: ["ip", "netns", "add", namespace] },
    {
      words: [
        "ip",
        "netns",
        "exec",
        namespace,
        "sh",
        "-ec",
        // Addresses of cloud-init are configured at once, and router advertisements add none.
        `cd /proc/sys/net/ipv6/conf; for each in all default; do echo 0 > $each/disable_ipv6; echo 0 > $each/accept_ra; echo 0 > $each/accept_dad; done; ${allowUnprivilegedNetwork}`,
      ],
    },
    guest(vmid, "link set dev lo up"),
    ...wires.flatMap((wire) => plug(wire, machine)),
  ];
}

function change(old: WiredMachine, machine: WiredMachine): WireCommand[] {
  const oldWires = new Map(old.wires.map((wire) => [wire.index, wire]));
  const kept = (wire: Wire) => {
    const was = oldWires.get(wire.index);
    return was !== undefined && device(was) === device(wire) ? was : undefined;
  };
  const newIndexes = new Set(machine.wires.filter(kept).map(({ index }) => index));
  return [
    ...old.wires.filter(({ index }) => !newIndexes.has(index)).flatMap(unplug),
    ...machine.wires.flatMap((wire) => {
      const was = kept(wire);
      if (was === undefined) return plug(wire, machine);
      return [
        ...(was.up === wire.up ? [] : [host(`link set dev ${tapOf(wire)} ${wire.up ? "up" : "down"}`)]),
        ...(settings(was) === settings(wire) ? [] : [configure(wire)]),
      ];
    }),
  ];
}

/** The properties that make it another cable. */
const device = (wire: Wire): string => JSON.stringify([wire.mac, bridgeOf(wire), wire.firewall]);
const settings = (wire: Wire): string => JSON.stringify([wire.addresses, wire.routes]);

/** The cable, and what a simulated guest configures on it. */
const plug = (wire: Wire, { firstId }: WiredMachine): WireCommand[] =>
  firstId === null ? [cable(wire), configure(wire)] : [cable(wire)];

function cable(wire: Wire): WireCommand {
  const { vmid, index, mac, firewall, up } = wire;
  const [tap, port, bridge] = [tapOf(wire), portOf(wire), bridgeOf(wire)];
  const [filter, link] = [firewallBridgeOf(wire), `fwln${vmid}i${index}`];
  return host(
    `link add name ${tap} type veth peer name eth${index} address ${mac} netns ${namespaceOf(vmid)}`,
    ...(firewall
      ? [
          `link add name ${filter} type bridge`,
          `link add name ${port} type veth peer name ${link}`,
          `link set dev ${tap} master ${filter}`,
          `link set dev ${link} master ${filter}`,
          `link set dev ${link} up`,
          `link set dev ${filter} up`,
        ]
      : []),
    `link set dev ${port} master ${bridge}`,
    `link set dev ${port} up`,
    `link set dev ${tap} ${up ? "up" : "down"}`,
  );
}

/** The routes of one interface are added after those of the ones before it. */
function configure({ vmid, index, addresses, routes }: Wire): WireCommand {
  const device = `eth${index}`;
  return guest(
    vmid,
    `addr flush dev ${device} scope global`,
    `link set dev ${device} ${addresses.length === 0 ? "down" : "up"}`,
    // The link's own may be there already, by the kernel.
    ...addresses.map((address) => `addr replace ${address} dev ${device}`),
    ...routes.map(
      ({ to, via }) => `route replace ${to} via ${via} dev ${device} metric ${100 + index} onlink`,
    ),
  );
}
