/**
 * The first rule of every server, whatever its firewalls say. Every guest gives itself a link-local IPv6
 * address, also in private networks, which have no IPv6: without this rule a machine on the same segment
 * would reach it there, past the rules about addresses that its owner knows of. Neighbour discovery is not
 * subject to rules.
 */
export const noLinkAddresses = {
  id: "platform_link_addresses",
  direction: "in",
  action: "deny",
  protocol: "any",
  ports: [],
  side: null,
  addresses: ["fe80::/10"],
} as const;
