import { argv, env, stderr } from "node:process";
import { batteryHook } from "@kule/crash-points/crash-hook";
import { MigrationBlocked } from "@kule/database/apply-migrations";
import { UnknownMigrations } from "@kule/database/unknown-migrations";
import { RegionFileError } from "@kule/region-config/region-file-error";
import { createLog } from "./platform/log.ts";
import { BadSettings, readSettings } from "./platform/settings.ts";

const usage = `usage: kule-api <command>
  serve     answer requests (KULE_DATABASE_URL, KULE_API_HOST, KULE_API_PORT, …)
  worker    run the control plane's own tasks (KULE_DATABASE_URL, KULE_WORKER_DATABASE_URL, KULE_AUDIT_KEYS), and the
            jobs of the regions whose files KULE_DIRECT_REGIONS names
  migrate   bring the database to this version (KULE_OWNER_DATABASE_URL, KULE_API_DATABASE_PASSWORD,
            KULE_WORKER_DATABASE_PASSWORD)
  seed      make a first operator, organisation, user and region, and print their secrets as JSON
            (KULE_OWNER_DATABASE_URL)
  restored  after a restore of the database from a backup, before the start: make it fit to be started with
            (KULE_OWNER_DATABASE_URL); --end-tokens
  doctor    look at the whole installation, and print what is wrong and how to fix it; --json
`;

/** Each command loads its own part of the program: the worker's needs several megabytes that the API does not. */
async function main(command: string | undefined, options: readonly string[]): Promise<void> {
  switch (command) {
    case "serve": {
      const settings = readSettings(env);
      const { serveCommand } = await import("./commands/serve.ts");
      return serveCommand(settings, createLog(settings.logLevel), batteryHook(env));
    }
    case "worker": {
      const settings = readSettings(env);
      const { workerCommand } = await import("./commands/worker.ts");
      return workerCommand(settings, env, createLog(settings.logLevel));
    }
    case "migrate":
      return (await import("./commands/migrate.ts")).migrateCommand(env);
    case "seed":
      return (await import("./commands/seed.ts")).seedCommand(env, options);
    case "restored":
      return (await import("./commands/restored.ts")).restoredCommand(env, options);
    case "doctor":
      return (await import("./commands/doctor.ts")).doctorCommand(env, options);
    default:
      throw new BadSettings(usage);
  }
}

/** An error in how the process was started explains itself. */
function isExplained(error: unknown): error is Error {
  return [BadSettings, MigrationBlocked, RegionFileError, UnknownMigrations].some(
    (kind) => error instanceof kind,
  );
}

main(argv[2], argv.slice(3)).catch((error: unknown) => {
  stderr.write(
    `${isExplained(error) ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  );
  process.exitCode = 1;
});
