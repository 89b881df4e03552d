/** What other products may use of regions. */
export { chooseRegion } from "./choose-region.ts";
export { listVisibleRegions, type RegionRow } from "./store.ts";
export { imagesOf, statusOf, statusSince } from "./view.ts";
