/** What other products may use of what the regions' agents saw. */
export { type KnownCapacity, nodesFor, placeServer, readCapacity } from "./capacity.ts";
export { findGuest, findLastPass } from "./store.ts";
export { viewCapacity } from "./view.ts";
