/** What other products, the worker and the lists of handlers may import of domains. */
export { bySystem } from "./apply.ts";
export { applyFailedDomains } from "./apply-failed-domains.ts";
export {
  areServed,
  type ChallengeRecord,
  readProvingDomains,
  type ServedFrom,
  setChallengeRecords,
} from "./challenges.ts";
export { endClaims } from "./end-claims.ts";
export { type EndedDomain, endDomain } from "./end-domain.ts";
export { findDrift } from "./find-drift.ts";
export { applyDomainsOfServer } from "./follow-addresses.ts";
export { lookAtDelegations } from "./look-at-delegations.ts";
export { proveDomain } from "./prove-domain.ts";
export { purgeDomains } from "./purge-domains.ts";
export { mountDomains } from "./routes.ts";
export { domainJobs } from "./settle.ts";
export { verifyPendingDomains } from "./verify-pending-domains.ts";
