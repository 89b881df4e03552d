import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "pg";
import { advice, type Finding, good, wrong } from "./finding.ts";

/** Where docs/runbooks/backup-and-restore.md puts base backups. On another machine nothing is known of them here. */
const baseBackups = "/var/backups/kule/base";
const page = "docs/runbooks/backup-and-restore.md";

const oldBaseBackupDays = 8;
/** Of archived log. An installation writes all the time, so one that is archived at times is archived often. */
const oldLogSeconds = 900;

type Archiver = {
  readonly mode: string;
  readonly timeout: number;
  /** Seconds since then; null: never. */
  readonly archived: number | null;
  readonly failed: number | null;
  readonly failed_file: string | null;
};

/** Whether the log is archived, without which a backup is as old as its last base backup. */
export async function checkArchive(client: Client): Promise<Finding[]> {
  const { rows } = await client.query<Archiver>(
    `select current_setting('archive_mode') as mode,
            (select setting::integer from pg_settings where name = 'archive_timeout') as timeout,
            extract(epoch from clock_timestamp() - last_archived_time)::double precision as archived,
            extract(epoch from clock_timestamp() - last_failed_time)::double precision as failed,
            last_failed_wal as failed_file
       from pg_stat_archiver`,
  );
  return rows.map(archiveFinding);
}

export function archiveFinding({ mode, timeout, archived, failed, failed_file: file }: Archiver): Finding {
  const check = "backup: log";
  if (mode === "off")
    return advice(
      check,
      "archive_mode is off: what was written after the last base backup is lost with the database",
      `archive the log, unless your database's operator does: ${page}`,
    );
  if (failed !== null && (archived === null || failed < archived))
    return wrong(
      check,
      `${file ?? "a file"} could not be archived, the last time ${lengthOf(failed)} ago, and is kept until it is`,
      "read the log of Postgres; the disk of Postgres fills up meanwhile",
    );
  if (archived === null)
    return advice(check, "nothing was archived yet", `select pg_switch_wal(); then look again: ${page}`);
  if (timeout === 0)
    return advice(
      check,
      `archived ${lengthOf(archived)} ago, and archive_timeout is 0: up to 16 MB of changes wait, for any time`,
      "alter system set archive_timeout = '60s'; select pg_reload_conf();",
    );
  if (archived > Math.max(oldLogSeconds, 3 * timeout))
    return advice(
      check,
      `the last file was archived ${lengthOf(archived)} ago`,
      `look whether archive_command still works: ${page}`,
    );
  return good(check, `archived ${lengthOf(archived)} ago`);
}

/** How old the newest base backup is, in seconds; null where none are kept on this machine. */
export function baseBackupAge(now: number, folder: string = baseBackups): number | null {
  try {
    const times = readdirSync(folder).map((name) => statSync(join(folder, name)).mtimeMs);
    return times.length === 0 ? Number.POSITIVE_INFINITY : Math.max(0, now - Math.max(...times)) / 1000;
  } catch {
    return null;
  }
}

export function checkBaseBackup(age: number | null): Finding[] {
  if (age === null) return [];
  const check = "backup: base";
  if (!Number.isFinite(age))
    return [advice(check, `there is none in ${baseBackups}`, `make the first one: ${page}`)];
  const found = `the newest in ${baseBackups} is ${lengthOf(age)} old`;
  return [
    age > oldBaseBackupDays * 86_400
      ? advice(check, found, `make one, and look why none is made each week: ${page}`)
      : good(check, found),
  ];
}

function lengthOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} hours` : `${Math.round(seconds / 86_400)} days`;
}
