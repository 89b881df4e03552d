import { type QuotaName, quotaNames } from "@kule/rules/quotas/names";
import { decideQuotas, type QuotaAmounts, type QuotaRefusal } from "@kule/rules/quotas/quotas";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { lockLimits, readLimits } from "./limits.ts";
import { readUseUnderLock } from "./used.ts";

/** The requested amounts; a function is called once the organisation's row is locked. */
type Asked = QuotaAmounts | (() => Promise<Omit<QuotaAmounts, "members">>);

/**
 * The quotas that do not suffice for what this transaction is about to use. Call it before any lock that
 * others take after the organisation's: from here on transactions that use its quota run one after the other.
 * An organisation without a limit takes no lock.
 */
export async function quotaRefusals(tx: Tx, organisationId: string, asked: Asked): Promise<QuotaRefusal[]> {
  const limits = await readLimits(tx, organisationId);
  const concerns = (name: QuotaName) =>
    limits[name] !== null && (typeof asked === "function" || (asked[name] ?? 0) > 0);
  return quotaNames.some(concerns) ? quotaRefusalsUnderLock(tx, organisationId, asked) : [];
}

/** The same for a caller that has checked that there are limits. */
export async function quotaRefusalsUnderLock(
  tx: Tx,
  organisationId: string,
  asked: Asked,
): Promise<QuotaRefusal[]> {
  // One round trip: each statement sees what was committed before the lock was taken.
  const [limits, amounts, { used }] = await Promise.all([
    lockLimits(tx, organisationId),
    typeof asked === "function" ? asked() : asked,
    readUseUnderLock(tx, organisationId, {
      members: typeof asked !== "function" && asked.members !== undefined,
    }),
  ]);
  return decideQuotas(organisationId, limits, used, amounts);
}

/** @throws Conflict `quota_exceeded` */
export async function takeQuota(tx: Tx, organisationId: string, asked: Asked): Promise<void> {
  const [first] = await quotaRefusals(tx, organisationId, asked);
  if (first !== undefined) throw new Conflict(first);
}
