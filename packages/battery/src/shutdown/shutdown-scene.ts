import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { TestProcess } from "@kule/testing/child-process";
import type { RegionWorld } from "@kule/testing/region-world";
import type { JobJournal } from "@kule/testing/rig/job-journal";
import { type CrashCase, tracedCases } from "@kule/testing/system/crash-points";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import type { ServerLives } from "../delivery/server-lives.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { RowRun } from "../row.ts";
import { handBacks } from "./hand-backs.ts";

export type Scene = {
  readonly run: RowRun;
  readonly world: RegionWorld;
  readonly lives: ServerLives;
  readonly journal: JobJournal;
};

export type Findings = { cases: number; readonly violations: string[]; readonly seconds: number[] };

export const noFindings = (): Findings => ({ cases: 0, violations: [], seconds: [] });

export function add(sum: Findings, more: Findings): void {
  sum.cases += more.cases;
  sum.violations.push(...more.violations);
  sum.seconds.push(...more.seconds);
}

/** An agent may take ten seconds to stop; the machine may be busy as well. */
const ENDS_WITHIN_SECONDS = 15;
const SETTLES_WITHIN_SECONDS = 60;

export type SignalledAgent = {
  readonly agent: TestProcess;
  readonly name: string;
  readonly toldAtMs: number;
};

/** Waits for the end of stopped agents, and checks what they held. */
export async function stoppedCleanly({ journal }: Scene, told: readonly SignalledAgent[]): Promise<Findings> {
  const violations: string[] = [];
  for (const { agent, name } of told) {
    const end = await Promise.race([agent.ended, delay(ENDS_WITHIN_SECONDS * 1000, null, { ref: false })]);
    if (end === null) violations.push(`${name} still ran ${ENDS_WITHIN_SECONDS} s after SIGTERM`);
    else if (end.code !== 0) violations.push(`${name} ended with ${end.signal ?? end.code} after SIGTERM`);
  }
  const changes = await journal.changes();
  const seconds: number[] = [];
  let cases = 0;
  for (const { agent, name, toldAtMs } of told)
    for (const released of handBacks(changes, name, toldAtMs)) {
      cases += 1;
      if (released.seconds === null)
        violations.push(
          `${released.job} was still held by ${name} after it had ended; its last words: ${agent.output().slice(-800)}`,
        );
      else seconds.push(released.seconds);
    }
  return { cases, violations, seconds };
}

/** A healthy agent brings everything to its end, and everything must be consistent then. */
export async function recoveryViolations(scene: Scene, when: string): Promise<string[]> {
  const { world, lives } = scene;
  const healer = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" }, { name: "healer" });
  const stuck = await lives.untilSettled(SETTLES_WITHIN_SECONDS);
  await healer.end();
  const twice = [...world.effects().clones]
    .filter(([, count]) => count !== 1)
    .map(([vmid, count]) => `${when}: VM ${vmid} was cloned ${count} times`);
  return [
    ...stuck.map((text) => `${when}: ${text}`),
    ...twice,
    ...(await worldViolations(world.database.ownerUrl, when, [
      await viewOfControlServer("lab1", world.labControlUrl),
    ])),
  ];
}

/** Where a healthy create can be stopped: the crash points that it passes. */
export async function placesOfCreate({ world }: Scene): Promise<CrashCase[]> {
  const directory = mkdtempSync(join(tmpdir(), "kule-trace-"));
  const trace = join(directory, "trace");
  try {
    const agent = world.startAgent({ BATTERY_TRACE: trace });
    const client = await world.newOrganisation("traced");
    const { job } = await world.createServer("traced", client);
    await world.untilDone(job.id, client);
    await agent.end();
    return tracedCases(trace, "ServerCreate");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Stopped by SIGSTOP. */
export function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "T";
}
