/**
 * The last rule of a server without a firewall: every VM drops what no rule matches, so that only rules ever
 * change. A policy that is set and removed again would restore the hypervisor's earlier options, for which an
 * old request would be valid again.
 */
export const allowAllInbound = {
  id: "platform_no_firewall",
  direction: "in",
  action: "allow",
  protocol: "any",
  ports: [],
  side: null,
  addresses: null,
} as const;
