/** What other products may import of the pools. */
export { registerIpPoolMetrics } from "./metrics.ts";
export { mountIpPools } from "./routes.ts";
export { foldLongPoolCounts, isFresh } from "./store.ts";
