import { tenantTables } from "@kule/database/tenant-tables";
import type { LoggedStatement } from "./statement-log.ts";
import { unfilteredUses } from "./unfiltered-statements.ts";
import { tableUses } from "./unfiltered-tables.ts";

/** Every table with organisation_id, also those that row-level security leaves out. */
const ownedTables = new Set([...tenantTables, "token", "audit", "idempotency_key", "region_organisation"]);

export type StatementAudit = {
  readonly seen: number;
  readonly distinct: number;
  /** Uses of a table of organisations at some level of a statement. */
  readonly uses: number;
  readonly violations: readonly string[];
};

/** Reads what Postgres ran: each use of a table of organisations names the organisation or is on the list. */
export function auditStatements(statements: readonly LoggedStatement[]): StatementAudit {
  const violations: string[] = [];
  const open = new Map<string, { calls: number; text: string }>();
  let uses = 0;
  for (const { text, calls, topLevel } of statements)
    try {
      for (const use of tableUses(text, ownedTables)) {
        uses += 1;
        if (use.isFiltered) continue;
        // What a function may do by itself, the API must not do with a statement of its own.
        const name = `${use.verb} ${use.table} by ${use.by.join(", ")}${topLevel ? "" : " in a function"}`;
        open.set(name, { calls: (open.get(name)?.calls ?? 0) + calls, text });
      }
    } catch (error) {
      violations.push(error instanceof Error ? error.message : String(error));
    }
  for (const [name, { calls, text }] of open)
    if (unfilteredUses[name] === undefined)
      violations.push(
        `${name} names no organisation and is not on the list; ${calls} times, e.g. ${text.replaceAll(/\s+/g, " ").slice(0, 600)}`,
      );
  for (const name of Object.keys(unfilteredUses))
    if (!open.has(name)) violations.push(`${name} was not seen: take it from the list of unfiltered uses`);
  return {
    seen: statements.reduce((sum, { calls }) => sum + calls, 0),
    distinct: statements.length,
    uses,
    violations,
  };
}
