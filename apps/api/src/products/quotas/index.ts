/** What other products may import of quotas. */
export { mountQuotas } from "./routes.ts";
export { quotaRefusals, quotaRefusalsUnderLock, takeQuota } from "./take.ts";
export { foldLongCounts, quotaOfPackage } from "./used.ts";
