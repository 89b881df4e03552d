import { readFileSync } from "node:fs";

/**
 * Distinguishes a process from a later one with the same number: the kernel's boot and the moment the process
 * began, in clock ticks after that boot.
 */
export interface ProcessIdentity {
  pid: number;
  startTicks: number;
  bootId: string;
}

/** Reads who `pid` is now, or `undefined` when no such process runs (a zombie counts as not running). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The command name in parentheses may itself hold spaces and parentheses, so count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  const startTicks = Number(fields[19]);
  if (state === "Z" || state === "X" || !Number.isFinite(startTicks)) return undefined;
  return { pid, startTicks, bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() };
}

/** True when the very process that was identified earlier still runs; false for a reused number. */
export function isStillRunning(identity: ProcessIdentity): boolean {
  const now = identifyProcess(identity.pid);
  return now !== undefined && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
}

/** Parses what `JSON.stringify(identity)` wrote; `undefined` for a torn or foreign file. */
export function parseProcessIdentity(text: string): ProcessIdentity | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { pid, startTicks, bootId } = value as Record<string, unknown>;
    if (typeof pid !== "number" || typeof startTicks !== "number" || typeof bootId !== "string")
      return undefined;
    return { pid, startTicks, bootId };
  } catch {
    return undefined;
  }
}
