/** What other products may use of what the regions' agents saw. */
export { readCapacity } from "./capacity.ts";
export { findLastPass } from "./store.ts";
export { viewCapacity } from "./view.ts";
