import { sql } from "kysely";
import type { Database } from "../platform/database.ts";
import { BadSettings } from "../platform/settings.ts";

const retryMs = 2_000;

/**
 * Whether requests are answered with a role that has only the rights it needs. The owner of the tables and a
 * superuser bypass every rule that the database enforces: row-level security, the audit trail, who is an
 * operator.
 *
 * @returns false when the database does not answer, or has no tables yet
 * @throws BadSettings when the role has too many rights
 */
export async function isWeakRole(db: Database): Promise<boolean> {
  try {
    const { rows } = await sql<{ role: string; is_strong: boolean; has_tables: boolean }>`
      select current_user as role, to_regclass('public.audit') is not null as has_tables,
             rolsuper or rolbypassrls or coalesce((
               select pg_has_role(current_user, relowner, 'usage') from pg_class
                where oid = to_regclass('public.audit')), false) as is_strong
        from pg_roles where rolname = current_user`.execute(db);
    const [found] = rows;
    if (found?.is_strong === true)
      throw new BadSettings(
        `KULE_DATABASE_URL is of ${found.role}, which owns the tables or is a superuser; give serve the URL of kule_api, whose password \`kule-api migrate\` sets to KULE_API_DATABASE_PASSWORD`,
      );
    return found?.has_tables === true;
  } catch (error) {
    if (error instanceof BadSettings) throw error;
    // It is unreachable or too slow; whether it answers is checked elsewhere.
    return false;
  }
}

/**
 * The same for a database that was unreachable when the process began: checks until it is known, and reports
 * a role with too many rights.
 */
export function onceStrongRole(db: Database, stop: AbortSignal, tell: (error: BadSettings) => void): void {
  const look = () => {
    if (stop.aborted) return;
    isWeakRole(db).then(
      (isKnown) => {
        if (!isKnown) setTimeout(look, retryMs).unref();
      },
      (error: BadSettings) => tell(error),
    );
  };
  look();
}
