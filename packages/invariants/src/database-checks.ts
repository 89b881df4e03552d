import { allocationChecks } from "./allocations.ts";
import { auditChecks } from "./audit.ts";
import type { Check } from "./check.ts";
import { consoleChecks } from "./consoles.ts";
import { domainChecks } from "./domains.ts";
import { firewallChecks } from "./firewalls.ts";
import { gatewayChecks } from "./gateways.ts";
import { jobChecks } from "./jobs.ts";
import { loadBalancerChecks } from "./load-balancers.ts";
import { networkChecks } from "./networks.ts";
import { ownershipChecks, ownershipConstraintCheck } from "./ownership.ts";
import { publicIpChecks } from "./public-ips.ts";
import { recordChecks } from "./records.ts";
import { regionSeenChecks } from "./region-seen.ts";
import { removalChecks } from "./removal.ts";
import { uniquenessChecks } from "./uniqueness.ts";

/** Everything that the database can be held against itself for. */
export const databaseChecks: readonly Check[] = [
  ...allocationChecks,
  ...publicIpChecks,
  ...firewallChecks,
  ...gatewayChecks,
  ...loadBalancerChecks,
  ...networkChecks,
  ...domainChecks,
  ...jobChecks,
  ...recordChecks,
  ...uniquenessChecks,
  ...ownershipChecks,
  ownershipConstraintCheck,
  ...removalChecks,
  ...regionSeenChecks,
  ...consoleChecks,
  ...auditChecks,
];
