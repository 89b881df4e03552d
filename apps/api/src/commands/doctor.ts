import { stdout } from "node:process";
import { parseArgs } from "node:util";
import { baseBackupAge } from "../doctor/check-backup.ts";
import { disksHere } from "../doctor/check-disk.ts";
import { diagnose } from "../doctor/diagnose.ts";
import { isReady } from "../doctor/finding.ts";
import { findingsTable } from "../doctor/findings-table.ts";

/** Looks at the whole installation, changes nothing, and prints what is wrong and how to fix it. Status 1 when it is not ready. */
export async function doctorCommand(
  environment: Readonly<Record<string, string | undefined>>,
  options: readonly string[],
): Promise<void> {
  const { values } = parseArgs({
    args: [...options],
    options: { json: { type: "boolean", default: false } },
  });
  const findings = await diagnose({
    environment,
    now: Date.now,
    disks: disksHere,
    baseBackupAge: () => baseBackupAge(Date.now()),
  });
  const ready = isReady(findings);
  stdout.write(`${values.json ? JSON.stringify({ ready, findings }) : findingsTable(findings)}\n`);
  if (!ready) process.exitCode = 1;
}
