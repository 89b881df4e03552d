/** What other products may import of the agents' observations. */
export {
  type KnownCapacity,
  nodesFor,
  placeServer,
  placeServerAgain,
  readCapacity,
  releaseGrowth,
  reserveCapacityToGrow,
} from "./capacity.ts";
export { sightingsToReport } from "./drift-notes.ts";
export {
  digestOfFilter,
  noFilter,
  noFilterInPayload,
  type PayloadFilter,
  storedDigest,
  unknownFilter,
} from "./filter-digest.ts";
export { heldForVm, releaseHeldAddress } from "./held-vms.ts";
export { registerInventoryMetrics } from "./metrics.ts";
export { isNothingThere } from "./nothing-there.ts";
export { beginPass } from "./passes.ts";
export { type BatchNews, recordBatch } from "./record-batch.ts";
export { mountInventory } from "./routes.ts";
export { findGuest } from "./store.ts";
export type { StoredGuest } from "./stored-guest.ts";
