import { stderr, stdout } from "node:process";
import { migrate } from "@kule/database/migrate";
import { BadSettings } from "../platform/settings.ts";

/**
 * Migrates the database to this version, and says on standard error what it does. Safe to run again, on two machines at once, and
 * while the version before is running.
 */
export async function migrateCommand(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const ownerUrl = environment.KULE_OWNER_DATABASE_URL;
  if (ownerUrl === undefined || ownerUrl === "")
    throw new BadSettings(
      "KULE_OWNER_DATABASE_URL is not set: a role that may create tables and roles is needed",
    );
  const { KULE_API_DATABASE_PASSWORD: apiPassword = "", KULE_WORKER_DATABASE_PASSWORD: workerPassword = "" } =
    environment;
  const applied = await migrate(ownerUrl, {
    ...(apiPassword === "" ? {} : { apiPassword }),
    ...(workerPassword === "" ? {} : { workerPassword }),
    tell: (text) => stderr.write(`${text}\n`),
  });
  stdout.write(`${JSON.stringify({ applied })}\n`);
}
