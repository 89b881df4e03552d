/** What other products may use of quotas. */
export { quotaRefusals, quotaRefusalsUnderLock, takeQuota } from "./take.ts";
export { quotaOfPackage } from "./used.ts";
