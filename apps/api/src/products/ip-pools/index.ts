/** What other products may import of the pools. */
export { mountIpPools } from "./routes.ts";
export { foldLongPoolCounts, isFresh } from "./store.ts";
