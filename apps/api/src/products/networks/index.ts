/** What other products may import of networks: where a server goes and which address it gets. */
export { allocateAddress } from "./addresses.ts";
export { askedBy, type Requester, requestNetworkApply } from "./apply.ts";
export { applyFirstTime, applyLostNetworks, applyUnseenNetworks } from "./apply-lost.ts";
export { applyStranded, endStrandedJobs } from "./edge-gone.ts";
export type { HookedNetwork, NetworkHooks, UsedPlace } from "./hooks.ts";
export { type DefaultNetwork, ensureDefaultNetwork, hasDefaultNetwork } from "./placement.ts";
export { mountNetworks } from "./routes.ts";
export { networkJobs } from "./settle.ts";
export { findNetwork, hasOpenJob, lockNetwork, type NetworkRow } from "./store.ts";
export { findSubnet } from "./subnet-store.ts";
