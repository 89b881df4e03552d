/** What other products may use of quotas. */
export { type Asked, quotaRefusals, quotaRefusalsUnderLock, takeQuota } from "./take.ts";
export { quotaOfPackage } from "./used.ts";
