/** What other products may import of consoles. */
export type { SessionTimes } from "./live-session.ts";
export { addressOf, announceReplica } from "./replica.ts";
export { mountConsoles } from "./routes.ts";
export { auditEnd, auditSession } from "./session-audit.ts";
export { closeAbandoned, deleteOldSessions } from "./store.ts";
export { serveConsoles } from "./upgrade.ts";
