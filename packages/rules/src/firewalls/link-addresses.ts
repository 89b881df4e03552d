/**
 * The first rule of every server, whatever its firewalls say. Every guest gives itself an IPv6 address of its link, also
 * in private networks, which have no IPv6: without this one whoever is on the same cable would reach it there, past the
 * rules about addresses that its owner knows of. How neighbours find each other is not held to rules.
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
