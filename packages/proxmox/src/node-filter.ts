/**
 * What operators load on every node beside its own firewall, which is shown no tagged frame, in the words of
 * infra/proxmox/kule-node-filter.nft: a region that was set up as the runbook says has it.
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
