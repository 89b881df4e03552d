/** What other products may import of the invariants. */
export { registerInvariantMetrics } from "./metrics.ts";
export { mountInvariants } from "./routes.ts";
export type { CheckSummary, OpenViolation, StoredReport } from "./store.ts";
