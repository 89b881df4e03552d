import type { SourcePatch } from "@kule/build/source-patch";

/**
 * A firewall is verified by two readers. A mutant that removes a rule from the first must remove the second
 * reader as well: otherwise every job of a firewall would fail, and no forbidden traffic would be let in.
 */
export const oneReader: SourcePatch = {
  file: "packages/programs/src/firewalls/firewall-differs.ts",
  find: "return nextFirewallChange(desired, seen) !== null || !hasIntendedRules(payload, seen);",
  replace: "return nextFirewallChange(desired, seen) !== null;",
};
