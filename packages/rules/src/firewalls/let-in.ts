/**
 * The last rule of a server without a firewall: what no rule is about is dropped on every VM, so that nothing but rules
 * ever changes. A policy that comes and goes makes the hypervisor's options what they were before, and a request of long
 * ago would fit them again.
 */
export const letAllIn = {
  id: "platform_no_firewall",
  direction: "in",
  action: "allow",
  protocol: "any",
  ports: [],
  side: null,
  addresses: null,
} as const;
