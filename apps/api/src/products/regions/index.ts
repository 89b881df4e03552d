/** What other products and commands may import of regions. */
export { chooseRegion } from "./choose-region.ts";
export { addRegion } from "./create-region.ts";
export { registerRegionMetrics } from "./metrics.ts";
export { regionOf } from "./region-of-path.ts";
export { mountRegions } from "./routes.ts";
export {
  findRegion,
  listVisibleRegions,
  lockRegion,
  type RegionAgent,
  type RegionRow,
  reportingAgents,
} from "./store.ts";
export { imagesOf, statusOf, statusSince, viewRegionAgent } from "./view.ts";
