import type { Client } from "pg";
import { advice, type Finding, someOf } from "./finding.ts";

/** What waits for an operator after a restore of the database. */
export async function checkRestore(client: Client): Promise<Finding[]> {
  const { rows } = await client.query<{ slug: string; is_scanned: boolean }>(
    `select slug, restore_scanned_at is not null as is_scanned from region
      where restored_at is not null and restore_ended_at is null order by slug`,
  );
  const unscanned = rows.filter(({ is_scanned }) => !is_scanned).map(({ slug }) => slug);
  const open = rows.filter(({ is_scanned }) => is_scanned).map(({ slug }) => slug);
  const page = "docs/runbooks/backup-and-restore.md, “After the start”";
  return [
    ...(unscanned.length === 0
      ? []
      : [
          advice(
            "restore",
            `${someOf(unscanned)}: nothing is allocated until a complete scan since the restore`,
            `GET /operator/restore names what a region waits for; ${page}`,
          ),
        ]),
    ...(open.length === 0
      ? []
      : [
          advice(
            "restore",
            `${someOf(open)}: removals wait until an operator has worked through what differs`,
            page,
          ),
        ]),
  ];
}
