import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PostgresError } from "./errors.ts";
import { identifyProcess, isStillRunning, type ProcessIdentity } from "./process-identity.ts";

/**
 * Ends the Postgres processes that an earlier launcher left behind on this cluster: a postmaster by a fast
 * shutdown, backends whose postmaster was killed by SIGQUIT (they hold the shared memory, and a new postmaster
 * would refuse to start). Processes are ours when they run `postgres` with the cluster as working directory.
 *
 * @throws PostgresError `stop_failed` when they do not end in time.
 */
export async function endLeftovers(clusterDir: string, log: (line: string) => void): Promise<void> {
  const postmasterPid = readPostmasterPid(clusterDir);
  if (postmasterPid === undefined) return;
  const leftovers = postgresProcessesIn(clusterDir);
  if (leftovers.length > 0) await endProcesses(leftovers, postmasterPid, log);
  // Postgres believes the file when its number is in use, by a zombie or, after the restart of a container,
  // by any process; no process uses this cluster now, so the file is stale.
  rmSync(join(clusterDir, "postmaster.pid"), { force: true });
}

async function endProcesses(
  leftovers: ProcessIdentity[],
  postmasterPid: number,
  log: (line: string) => void,
): Promise<void> {
  const postmaster = leftovers.find((leftover) => leftover.pid === postmasterPid);
  if (postmaster !== undefined) {
    log(`stopping Postgres (process ${postmaster.pid}), left over from an earlier run`);
    signal(postmaster, "SIGINT");
    if (await waitForEnd([postmaster], 20_000)) return;
    signal(postmaster, "SIGQUIT");
  } else {
    log(`ending ${leftovers.length} backends of a Postgres that was killed`);
    for (const leftover of leftovers) signal(leftover, "SIGQUIT");
  }
  if (!(await waitForEnd(leftovers, 10_000))) {
    throw new PostgresError(
      "stop_failed",
      `Postgres processes of an earlier run do not end: ${leftovers.filter(isStillRunning).map((leftover) => leftover.pid)}.`,
    );
  }
}

function readPostmasterPid(clusterDir: string): number | undefined {
  try {
    return Number(readFileSync(join(clusterDir, "postmaster.pid"), "utf8").split("\n")[0]);
  } catch {
    return undefined;
  }
}

function postgresProcessesIn(clusterDir: string): ProcessIdentity[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => linkOf(pid, "cwd") === clusterDir && isPostgres(linkOf(pid, "exe")))
    .map(identifyProcess)
    .filter((identity) => identity !== undefined);
}

/** The link of a replaced or removed program ends in " (deleted)". */
function isPostgres(program: string | undefined): boolean {
  return program !== undefined && basename(program).split(" ")[0] === "postgres";
}

function linkOf(pid: number, name: "cwd" | "exe"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`);
  } catch {
    return undefined;
  }
}

function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isStillRunning(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A process gets no notification about the end of one that is not its child, so this checks every 20 ms. */
async function waitForEnd(identities: ProcessIdentity[], timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (identities.some(isStillRunning)) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
}
