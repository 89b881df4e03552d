import type { Database } from "../platform/database.ts";
import { auditEnd } from "../products/consoles/session-audit.ts";
import { closeAbandoned } from "../products/consoles/store.ts";

/**
 * Ends the console sessions that nobody else will: of processes that are gone, and tickets that nobody came with. They
 * count for no limit by then; this writes their end down.
 */
export function endLostConsoles(db: Database): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const ended = await closeAbandoned(tx);
    for (const each of ended)
      if (each.redeemed_at !== null) await auditEnd(tx, each, { reason: "lost", bytes: null });
    return ended.length;
  });
}
