/** What other products, the worker and the lists of handlers may import of domains. */
export { endClaims } from "./end-claims.ts";
export { findDrift } from "./find-drift.ts";
export { lookAtDelegations } from "./look-at-delegations.ts";
export { applyDomainsOfServer, domainsOfServers } from "./of-servers.ts";
export { purgeDomains } from "./purge-domains.ts";
export { mountDomains } from "./routes.ts";
export { domainJobs } from "./settle.ts";
export { verifyPendingDomains } from "./verify-pending-domains.ts";
