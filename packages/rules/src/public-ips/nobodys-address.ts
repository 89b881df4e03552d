/**
 * Nobody has it on a cable. An interface with public addresses of version 6 alone is allowed it as well: where no address
 * of version 4 is allowed, Proxmox VE looks at no ARP, and the guest could claim whichever it likes, the next hop's too.
 */
export const nobodysIpv4 = "127.0.0.1";
