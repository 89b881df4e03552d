/** What other products may import of usage: how it is recorded. */
export { balanceUsage } from "./balances.ts";
export { openUsage, recordUsage, type UsageNote } from "./record.ts";
export { mountUsage } from "./routes.ts";
export { serverUsage } from "./server-usage.ts";
