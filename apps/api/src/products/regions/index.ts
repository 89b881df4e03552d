/** What other products and commands may use of regions. */
export { chooseRegion } from "./choose-region.ts";
export { addRegion } from "./create-region.ts";
export { findRegion, listVisibleRegions, lockRegion, type RegionRow } from "./store.ts";
export { imagesOf, statusOf, statusSince } from "./view.ts";
