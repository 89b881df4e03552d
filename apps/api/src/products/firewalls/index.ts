/** What other products may use of firewalls: the filter of a server, and what decides about packets. */
export {
  digestOfFilter,
  filterToFind,
  type PayloadFilter,
  renderFilter,
  renderWholeFilter,
} from "./filter.ts";
export { loadIntent } from "./intent.ts";
export { attachToNewServer, firewallsOfNewServerErrors, lockForNewServer } from "./new-server.ts";
export { askForRefresh } from "./refresh.ts";
export { leaveFilter, retryFilter, settleFilter } from "./settle.ts";
export { usedByFirewall } from "./use.ts";
