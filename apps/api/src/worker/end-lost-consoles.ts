import type { Database } from "../platform/database.ts";
import { inTransaction } from "../platform/transaction.ts";
import { auditEnd, closeAbandoned } from "../products/consoles/index.ts";

/**
 * Ends abandoned console sessions: those of processes that are gone, and tickets that were never presented.
 * They count for no limit by then; this records their end.
 */
export function endLostConsoles(db: Database): Promise<number> {
  return inTransaction(db, async (tx) => {
    const ended = await closeAbandoned(tx);
    for (const each of ended)
      if (each.redeemed_at !== null) await auditEnd(tx, each, { reason: "lost", bytes: null });
    return ended.length;
  });
}
