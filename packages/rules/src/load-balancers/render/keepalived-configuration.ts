import type { HighAvailability, Machine } from "../intent.ts";

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
    "}",
    "",
    "vrrp_track_process haproxy {",
    "    process haproxy",
    // Zero: without haproxy the machine is no master at all.
    "    weight 0",
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
    ...block("track_process", ["haproxy"]),
    ...block("virtual_ipaddress", [`${virtualAddress}/${prefixLength} dev ${interfaceName}`]),
    ...publicLines(publicAddress),
    "}",
  ];
}

/** Excluded from the adverts, which have room for the addresses of one segment. */
function publicLines(publicAddress: HighAvailability["publicAddress"]): string[] {
  if (publicAddress === null) return [];
  const { address, prefixLength, gateway, interfaceName } = publicAddress;
  return [
    ...block("virtual_ipaddress_excluded", [`${address}/${prefixLength} dev ${interfaceName}`]),
    ...(gateway === null ? [] : block("virtual_routes", [`0.0.0.0/0 via ${gateway} dev ${interfaceName}`])),
  ];
}

const block = (name: string, lines: readonly string[]): string[] => [
  `    ${name} {`,
  ...lines.map((line) => `        ${line}`),
  "    }",
];
