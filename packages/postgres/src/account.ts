import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { PostgresError } from "./errors.ts";

/** The operating-system account that Postgres runs under. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/**
 * Postgres refuses to run as root, so root drops to the owner of an existing cluster, else to `postgres`,
 * else to `nobody`. Any other user runs it as themselves: `undefined`.
 *
 * @throws PostgresError `account_missing` when root has no account to drop to.
 */
export function chooseAccount(clusterDir: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readAccounts();
  const owner = ownerOf(clusterDir);
  const chosen =
    (owner === undefined || owner === 0 ? undefined : accounts.find((account) => account.uid === owner)) ??
    accounts.find((account) => account.name === "postgres") ??
    accounts.find((account) => account.name === "nobody");
  if (chosen === undefined) {
    throw new PostgresError(
      "account_missing",
      "Postgres does not run as root, and /etc/passwd has neither `postgres` nor `nobody`: add one, run as an ordinary user, or set DATABASE_URL.",
    );
  }
  return chosen;
}

/** True when the account may enter the directory, through all its parents, as the kernel sees it. */
export function canEnter(account: Account | undefined, directory: string): boolean {
  return probe(account, ["-x", directory]);
}

/** True when the account may run this program. */
export function canRun(account: Account | undefined, program: string): boolean {
  return probe(account, ["-x", program]) && probe(account, ["-r", program]);
}

function probe(account: Account | undefined, condition: string[]): boolean {
  const result = spawnSync("/bin/sh", ["-c", 'test "$@"', "sh", ...condition], {
    cwd: "/",
    env: {},
    stdio: "ignore",
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  return result.status === 0;
}

function ownerOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.uid;
}

function readAccounts(): Account[] {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(
      (account) => account.name !== "" && Number.isInteger(account.uid) && Number.isInteger(account.gid),
    );
}
