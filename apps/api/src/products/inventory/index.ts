/** What other products may use of what the regions' agents saw. */
export {
  giveBackGrowth,
  type KnownCapacity,
  nodesFor,
  placeServer,
  placeServerAgain,
  readCapacity,
  takeRoomToGrow,
} from "./capacity.ts";
export { isNothingThere } from "./nothing-there.ts";
export { findGuest, findLastPass } from "./store.ts";
export { viewCapacity } from "./view.ts";
