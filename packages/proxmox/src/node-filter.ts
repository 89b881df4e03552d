/**
 * The filter that operators load on every node in addition to its own firewall, which gets no tagged frame,
 * as in infra/proxmox/kule-node-filter.nft: a region that was set up by the runbook has it.
 */
export const nodeFilter = `
table bridge kule
delete table bridge kule

table bridge kule {
  set others {
    type ifname
  }
  chain from_guests {
    type filter hook prerouting priority -500; policy accept;
    iifname "tap*" iifname != @others ether type != { ip, ip6, arp } drop
  }
  chain to_guests {
    type filter hook postrouting priority 500; policy accept;
    oifname "tap*" oifname != @others ether type != { ip, ip6, arp } drop
  }
}
`;
