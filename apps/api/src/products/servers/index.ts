/**
 * What other products may import of servers: the record, its locks and views, and the hooks for what is
 * attached to it.
 */
export { blocked, refuseConflicts } from "./answers.ts";
export { mayBeFiltered, writesFilter } from "./filter-state.ts";
export type { PublicInterface, ServerHooks } from "./hooks.ts";
export { lockServers } from "./lock-servers.ts";
export {
  type ByOwner,
  createManagedServer,
  deleteManagedServer,
  destroyManagedServerAgain,
  renameOwnerOfServers,
  resizeManagedServer,
} from "./managed.ts";
export { passWaitingRules, preemptQueuedJob } from "./preempt.ts";
export { mountServers } from "./routes.ts";
export { serverJobs } from "./settle.ts";
export { findServer, lockServer, type ServerDetails } from "./store.ts";
export { consoleFactsOf, viewServer } from "./view.ts";
