/** What other products may use of networks: where a server goes and which address it gets. */
export { allocateAddress } from "./addresses.ts";
export { askedBy } from "./apply.ts";
export { applyFirstTime, applyLostNetworks, applyUnseenNetworks } from "./apply-lost.ts";
export { applyStranded, endStrandedJobs } from "./edge-gone.ts";
export { type DefaultNetwork, ensureDefaultNetwork, hasDefaultNetwork } from "./placement.ts";
