import type { Client } from "pg";
import { BadSettings, readSettings, type Settings } from "../platform/settings.ts";
import { checkAcme } from "./check-acme.ts";
import { checkAgentReleases } from "./check-agent-releases.ts";
import { checkArchive, checkBaseBackup } from "./check-backup.ts";
import { checkClock } from "./check-clock.ts";
import { checkContents } from "./check-contents.ts";
import { type OpenedDatabase, openForDoctor } from "./check-database.ts";
import { checkDisk, type Disk } from "./check-disk.ts";
import { checkDns } from "./check-dns.ts";
import { checkMail } from "./check-mail.ts";
import { checkMigrations } from "./check-migrations.ts";
import { checkPanel } from "./check-panel.ts";
import { checkPublicUrl } from "./check-public-url.ts";
import { checkRegions } from "./check-regions.ts";
import { checkRestore } from "./check-restore.ts";
import { checkApiRole, checkWorkerRole } from "./check-roles.ts";
import { checkRowLevelSecurity } from "./check-row-level-security.ts";
import { type Finding, good, wordsOf, wrong } from "./finding.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the installation is looked at from. */
export type Place = {
  readonly environment: Environment;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly disks: () => readonly Disk[];
  /** Seconds since the newest base backup on this machine; null where none are kept. */
  readonly baseBackupAge: () => number | null;
};

/** All findings, in the order in which they should be corrected. Nothing is changed. */
export async function diagnose(place: Place): Promise<Finding[]> {
  const { environment } = place;
  const { settings, findings } = checkSettings(environment);
  const [database, ...others] = await Promise.all([
    checkDatabases(place),
    ...(settings === null
      ? []
      : [
          checkDns(settings, environment),
          checkMail(settings, environment),
          checkAcme(settings, environment),
          checkPublicUrl(settings),
          checkPanel(settings, environment),
          checkAgentReleases(settings, place.now),
        ]),
  ]);
  return [
    ...findings,
    ...database,
    ...others.flat(),
    ...checkDisk(place.disks()),
    ...checkBaseBackup(place.baseBackupAge()),
  ];
}

function checkSettings(environment: Environment): { settings: Settings | null; findings: Finding[] } {
  const file = environment.KULE_SERVER_CONFIGURATION ?? "the environment";
  try {
    return { settings: readSettings(environment), findings: [good("configuration", file)] };
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error;
    // Each problem is a line, or more of them where it is about another file; those below it are indented.
    const problems = error.message.split(/\n(?! )/);
    const fix = `correct it in ${file}; docs/server-configuration.md explains each name`;
    return { settings: null, findings: problems.map((problem) => wrong("configuration", problem, fix)) };
  }
}

async function checkDatabases({ environment, now }: Place): Promise<Finding[]> {
  const api = await openForDoctor("database", "KULE_DATABASE_URL", environment.KULE_DATABASE_URL);
  const client = api.client;
  if (client === null) return api.findings;
  try {
    const findings = [...api.findings, ...(await checkMigrations(client)), await checkClock(client, now)];
    // Without the tables there is nothing more to look at.
    if (!(await hasTables(client))) return findings;
    return [
      ...findings,
      ...(await checkApiRole(client)),
      ...(await checkWorkerDatabase(environment)),
      ...(await checkRowLevelSecurity(client)),
      ...(await checkContents(client)),
      ...(await checkRegions(client)),
      ...(await checkRestore(client)),
      ...(await checkArchive(client)),
    ];
  } catch (error) {
    return [...api.findings, wrong("database", wordsOf(error), "look into the log of Postgres")];
  } finally {
    await close(api);
  }
}

async function checkWorkerDatabase(environment: Environment): Promise<Finding[]> {
  const url = environment.KULE_WORKER_DATABASE_URL;
  const opened = await openForDoctor("worker's database", "KULE_WORKER_DATABASE_URL", url);
  if (opened.client === null) return opened.findings;
  try {
    return await checkWorkerRole(opened.client);
  } finally {
    await close(opened);
  }
}

async function hasTables(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    "select to_regclass('public.audit') is not null as found",
  );
  return rows[0]?.found === true;
}

async function close({ client }: OpenedDatabase): Promise<void> {
  await client?.end().catch(() => {});
}
