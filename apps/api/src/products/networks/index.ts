/** What other products may use of networks: where a server goes and which address it gets. */
export { allocateAddress } from "./addresses.ts";
export { type DefaultNetwork, ensureDefaultNetwork, hasDefaultNetwork } from "./placement.ts";
