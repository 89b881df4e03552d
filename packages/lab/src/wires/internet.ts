import { isIP } from "node:net";
import { makeBridge, type WireCommand } from "./plan-wires.ts";
import { bridgeOf } from "./wired-machines.ts";

/** In place of the internet: the next hop of the region's public networks, and machines beyond it. */
export type Internet = {
  /** The next hops of the public networks, in slash notation, e.g. "203.0.113.1/24". */
  readonly networks: readonly {
    readonly bridge: string;
    readonly vlan: number | null;
    readonly addresses: readonly string[];
  }[];
  /** Addresses beyond them that answer, e.g. "198.18.0.1". */
  readonly beyond: readonly string[];
  /** Whether one answers HTTP there at port 80, with the address that it sees. */
  readonly hasWeb?: boolean;
};

const byDefault: Internet = {
  networks: [{ bridge: "vmbr0", vlan: null, addresses: ["203.0.113.1/24", "2001:db8:203::1/64"] }],
  beyond: ["198.51.100.1", "2001:db8:198::1"],
};

/**
 * An internet as a variable describes it, in JSON; its errors as text. Absent: one with documentation
 * addresses.
 */
export function readInternet(text: string | undefined): Internet | string {
  if (text === undefined || text === "") return byDefault;
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { networks = [], beyond = [], hasWeb = false } = (said ?? {}) as Partial<Internet>;
  if (!Array.isArray(networks) || !Array.isArray(beyond)) return "networks and beyond are lists";
  if (typeof hasWeb !== "boolean") return "hasWeb is true or false";
  const wrong = [
    ...(networks as Internet["networks"]).flatMap(({ bridge, vlan = null, addresses }) => [
      ...(/^[a-z][a-z0-9]{0,8}$/.test(bridge) ? [] : [`${bridge} is no bridge`]),
      ...(vlan === null || (Number.isInteger(vlan) && vlan > 0 && vlan < 4095) ? [] : [`${vlan} is no VLAN`]),
      ...addresses.filter((each) => !isCidr(each)).map((each) => `${each} is no address in slash notation`),
    ]),
    ...(beyond as Internet["beyond"])
      .filter((each) => isIP(each) === 0)
      .map((each) => `${each} is no address`),
  ];
  return (
    wrong[0] ?? { networks: networks.map((each) => ({ ...each, vlan: each.vlan ?? null })), beyond, hasWeb }
  );
}

const isCidr = (text: string): boolean => {
  const [address = "", prefix = ""] = text.split("/");
  return (
    isIP(address) !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIP(address) === 4 ? 32 : 128)
  );
};

export const internetNamespace = "internet";

/**
 * Builds it, once. It routes between its networks, and has no route to private addresses except those that
 * they request.
 */
export function internetCommands({ networks, beyond }: Internet): WireCommand[] {
  const inside = (...lines: readonly string[]): WireCommand => ({
    words: ["ip", "-n", internetNamespace, "-batch", "-"],
    input: lines.map((line) => `${line}\n`).join(""),
  });
  return [
    { words: ["ip", "netns", "add", internetNamespace] },
    {
      words: [
        ...["ip", "netns", "exec", internetNamespace, "sh", "-ec"],
        "cd /proc/sys/net; echo 1 > ipv4/ip_forward; echo 1 > ipv6/conf/all/forwarding; for each in all default; do echo 0 > ipv6/conf/$each/disable_ipv6; echo 0 > ipv6/conf/$each/accept_dad; done; echo 0 > ipv4/ip_unprivileged_port_start",
      ],
    },
    inside(
      "link set dev lo up",
      ...beyond.map((address) => `addr add ${address}/${address.includes(":") ? 128 : 32} dev lo`),
    ),
    ...networks.flatMap((network, index): WireCommand[] => {
      const bridge = bridgeOf(network);
      const [port, device] = [`inet${index}`, `eth${index}`];
      return [
        makeBridge(bridge),
        {
          words: ["ip", "-batch", "-"],
          input: `link add name ${port} type veth peer name ${device} netns ${internetNamespace}\nlink set dev ${port} master ${bridge}\nlink set dev ${port} up\n`,
        },
        inside(
          `link set dev ${device} up`,
          ...network.addresses.map((address) => `addr add ${address} dev ${device}`),
        ),
      ];
    }),
  ];
}
