import { formatIpBlock, networkRange, parseIp } from "../../public-ips/addresses.ts";
import type { HighAvailability, Machine } from "../intent.ts";

/** Of the image. keepalived runs it only when nobody but root can write it or a folder that it is in. */
export const haproxyRunsScript = "/usr/local/lib/kule-lb/haproxy-runs";

/**
 * The lines of keepalived.conf for keepalived 2.2.
 *
 * Both begin as BACKUP and none takes the address from the other while that one is well (`nopreempt`): each move breaks the
 * connections of all clients. Adverts go to the peer alone, and those of other senders are ignored
 * (`check_unicast_src`), or any server of the subnet could take the address away.
 */
export function keepalivedLines(
  id: string,
  { virtualAddress, prefixLength, vrid, publicAddress }: HighAvailability,
  { slot, address, peerAddress, interfaceName }: Machine,
): string[] {
  return [
    "global_defs {",
    `    router_id ${id}-${slot}`,
    // A switch that was started anew learns again where the address is.
    "    vrrp_garp_master_refresh 60",
    "    script_user root",
    "    enable_script_security",
    "}",
    "",
    // Without a weight: a machine whose haproxy does not run is no master at all. Two failures, since haproxy is started again
    // after a second, and a move of the address breaks more connections than that. `track_process` would need the
    // kernel's process events, which not every guest has.
    "vrrp_script haproxy {",
    `    script "${haproxyRunsScript}"`,
    "    interval 1",
    "    timeout 2",
    "    fall 2",
    "    rise 1",
    "}",
    "",
    `vrrp_instance ${id} {`,
    "    state BACKUP",
    "    nopreempt",
    `    interface ${interfaceName}`,
    `    virtual_router_id ${vrid}`,
    `    priority ${slot === 1 ? 101 : 100}`,
    "    advert_int 1",
    "    check_unicast_src",
    `    unicast_src_ip ${address}`,
    ...block("unicast_peer", [peerAddress ?? ""]),
    ...block("track_script", ["haproxy"]),
    ...block("virtual_ipaddress", [`${virtualAddress}/${prefixLength} dev ${interfaceName}`]),
    ...publicLines(publicAddress),
    "}",
  ];
}

/** A table of its own, and the rule that leads to it before the main one. */
const publicTable = "table 1000";
const publicRule = "priority 1000";

/**
 * Excluded from the adverts, which have room for the addresses of one segment.
 *
 * The machine's own way out stays where it is, by its private interface: only packets from the public address leave by the
 * public gateway, and only where the address is. Those for its segment go there directly, as they came. The address alone is
 * on the interface (/32), so the gateway is said to be on the link.
 */
function publicLines(publicAddress: HighAvailability["publicAddress"]): string[] {
  if (publicAddress === null) return [];
  const { address, prefixLength, gateway, interfaceName } = publicAddress;
  const addresses = block("virtual_ipaddress_excluded", [`${address}/32 dev ${interfaceName}`]);
  if (gateway === null) return addresses;
  const segment =
    prefixLength === 32
      ? []
      : [`${segmentOf(address, prefixLength)} dev ${interfaceName} scope link ${publicTable}`];
  return [
    ...addresses,
    ...block("virtual_routes", [
      ...segment,
      `0.0.0.0/0 via ${gateway} dev ${interfaceName} onlink ${publicTable}`,
    ]),
    ...block("virtual_rules", [`from ${address}/32 ${publicTable} ${publicRule}`]),
  ];
}

/** The block of this length that the address is in. */
function segmentOf(address: string, prefixLength: number): string {
  const gateway = parseIp(address);
  return gateway === null ? "" : formatIpBlock(networkRange({ gateway, prefixLength }));
}

const block = (name: string, lines: readonly string[]): string[] => [
  `    ${name} {`,
  ...lines.map((line) => `        ${line}`),
  "    }",
];
