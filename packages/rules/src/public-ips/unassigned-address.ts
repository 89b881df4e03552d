/**
 * An address that no machine on a cable has. An interface with public addresses of version 6 alone is allowed
 * it as well: where no address of version 4 is allowed, Proxmox VE does not filter ARP, and the guest could
 * claim any address, the next hop's too.
 */
export const unassignedIpv4 = "127.0.0.1";
