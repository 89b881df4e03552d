import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { identifyProcess, isStillRunning, type ProcessIdentity } from "@kule/postgres/process-identity";
import { readJsonFile, writePrivateFile } from "./private-file.ts";

interface RunRecord {
  supervisor: ProcessIdentity;
  children: Record<string, ProcessIdentity>;
}

/** Another `npm start` runs on the same home directory. */
export class AlreadyRunning extends Error {
  override name = "AlreadyRunning";
}

/** The records of this run, for the next run to find after a kill. */
export interface RunNotes {
  noteChild(name: string, pid: number): void;
}

/**
 * Reserves `home` for this process: refuses while another run uses it, and ends the children that a killed
 * run left behind. A process counts as one of those only when number, start time and boot are as recorded.
 *
 * @throws AlreadyRunning
 */
export async function claimHome(home: string, log: (line: string) => void): Promise<RunNotes> {
  const file = join(home, "run.json");
  const previous = readRecord(file);
  if (previous !== undefined && isStillRunning(previous.supervisor)) {
    throw new AlreadyRunning(
      `Kule already runs from ${home} (process ${previous.supervisor.pid}). Stop that one first, or set KULE_HOME and the ports.`,
    );
  }
  await endChildren(Object.entries(previous?.children ?? {}), log);
  const supervisor = identifyProcess(process.pid);
  if (supervisor === undefined) throw new Error("/proc does not show this process");
  const record: RunRecord = { supervisor, children: {} };
  writePrivateFile(file, JSON.stringify(record));
  return {
    noteChild(name, pid) {
      const identity = identifyProcess(pid);
      if (identity === undefined) return;
      record.children[name] = identity;
      writePrivateFile(file, JSON.stringify(record));
    },
  };
}

/** A torn or foreign file is as good as none: children that lose their supervisor also end by themselves. */
function readRecord(file: string): RunRecord | undefined {
  try {
    return readJsonFile<RunRecord>(file);
  } catch {
    return undefined;
  }
}

async function endChildren(
  children: [string, ProcessIdentity][],
  log: (line: string) => void,
): Promise<void> {
  const alive = () => children.filter(([, identity]) => isStillRunning(identity));
  for (const [signal, timeoutMs] of [["SIGTERM", 8_000] as const, ["SIGKILL", 5_000] as const]) {
    const leftovers = alive();
    if (leftovers.length === 0) return;
    if (signal === "SIGTERM")
      log(`ending processes of a killed run: ${leftovers.map(([name]) => name).join(", ")}`);
    for (const [, identity] of leftovers) kill(identity, signal);
    const deadline = performance.now() + timeoutMs;
    while (alive().length > 0 && performance.now() < deadline) await delay(20);
  }
}

function kill(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
