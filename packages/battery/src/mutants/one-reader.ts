import type { SourcePatch } from "@kule/build/source-patch";

/**
 * A firewall is verified by two readers. Whoever takes a rule away from the first takes the second away as well: otherwise
 * no job of a firewall would end well, and nothing would be let in that is not to be.
 */
export const oneReader: SourcePatch = {
  file: "packages/programs/src/firewalls/firewall-differs.ts",
  find: "return nextFirewallChange(desired, seen) !== null || !saysWhatIsMeant(payload, seen);",
  replace: "return nextFirewallChange(desired, seen) !== null;",
};
