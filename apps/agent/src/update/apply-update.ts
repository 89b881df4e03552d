// `kule-agent apply-update`: what the unit kule-agent-update runs as root. It observes, takes the next step, and observes again,
// until there is nothing to do.

import { closeSync, readFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { acceptRelease, type Verdict } from "@kule/agent-release/accept-release";
import type { Architecture } from "@kule/agent-release/release";
import type { ReleaseKeys } from "@kule/agent-release/release-keys";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { LAYOUT } from "../install/layout.ts";
import { type AgentRuntime, pausedFully } from "../runtime.ts";
import { type AgentStatus, isProcessOf } from "../status-file.ts";
import { type Lock, takeLock } from "./lock.ts";
import { type MachineState, readMachineState, writeMachineState } from "./machine-state.ts";
import {
  type Done,
  NOTHING_DONE,
  nextUpdateStep,
  type Observed,
  type Step,
  type WatchEnd,
} from "./next-step.ts";
import { AgentFolder } from "./request.ts";
import { runAsAgent } from "./run-as-agent.ts";
import type { Service } from "./service.ts";
import { tryVersion } from "./try-version.ts";
import { StagingFailed, VersionFolders } from "./versions.ts";
import { judge, type Sight, type WatchLimits, watchSince } from "./watch.ts";

export type Updater = {
  /** A folder that stands for /. */
  readonly root: string;
  /** Of this build. */
  readonly builtIn: ReleaseKeys | null;
  readonly architecture: Architecture;
  readonly service: Service;
  readonly machine: UpdaterMachine;
  readonly runtime: AgentRuntime;
  readonly crashPoint: CrashHook;
  readonly limits: UpdaterLimits;
  readonly print: (line: string) => void;
};

/** What the kernel knows. */
export type UpdaterMachine = {
  readonly bootId: string;
  uptimeMs(): number;
  /** Null when somebody else has the lock. */
  lock(): Lock | null;
};

export const updaterMachine = (root: string): UpdaterMachine => ({
  bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
  uptimeMs: () => uptime() * 1000,
  lock: () => takeLock(root),
});

export type UpdaterLimits = WatchLimits & {
  /** Between two looks at the agent. */
  readonly lookEveryMs: number;
  readonly askEveryMs: number;
  /** After this a later updater goes on with the watch. */
  readonly watchMs: number;
  /** For the former version to run again. */
  readonly formerMs: number;
  /** Of the new version that is tried. */
  readonly tryMs: number;
};

/** More steps than any update has. */
const MOST_STEPS = 200;

/** It has nothing more to do when it resolves. @throws Error when the disk does not take what has to be remembered */
export async function applyUpdates(updater: Updater): Promise<"done" | "locked"> {
  const lock = updater.machine.lock();
  if (lock === null) return "locked";
  try {
    const run = new UpdateRun(updater);
    for (let steps = 0; steps < MOST_STEPS; steps++) if (!(await run.next())) return "done";
    throw new Error(`an update takes more than ${MOST_STEPS} steps`);
  } finally {
    lock.release();
  }
}

class UpdateRun {
  readonly #updater: Updater;
  readonly #folders: VersionFolders;
  #done: Done = NOTHING_DONE;
  /** What a full disk did not take, on the way back. */
  #unrecorded: MachineState | null = null;

  constructor(updater: Updater) {
    this.#updater = updater;
    this.#folders = new VersionFolders(updater.root, updater.crashPoint);
  }

  /** Takes the next step; false when there is none. */
  async next(): Promise<boolean> {
    const { crashPoint, print } = this.#updater;
    const step = nextUpdateStep(this.#observe());
    if (step.do === "end") return false;
    const name = step.do.replaceAll(" ", "-");
    await crashPoint(`update.${name}.before`);
    print(inWords(step));
    await this.#take(step);
    await crashPoint(`update.${name}.after`);
    return true;
  }

  #observe(): Observed {
    const { root } = this.#updater;
    const state = this.#unrecorded ?? readMachineState(root);
    const current = this.#folders.current();
    const folder = AgentFolder.open(root);
    try {
      return {
        state,
        current,
        updater: this.#folders.updater(),
        versions: this.#folders.list(),
        drafts: this.#folders.drafts(),
        request: folder === null ? null : this.#request(folder, state, current),
        running: this.#running(folder)?.version ?? null,
        bootId: this.#updater.machine.bootId,
        uptimeMs: this.#updater.machine.uptimeMs(),
        now: new Date(this.#updater.runtime.now()).toISOString(),
        done: this.#done,
      };
    } finally {
      folder?.close();
    }
  }

  #request(folder: AgentFolder, state: MachineState, current: string | null): Observed["request"] {
    const request = folder.request();
    if (request === null || request.id === state.result?.request_id) return null;
    const { id, version } = request;
    return { id, version, verdict: this.#verdict(folder, state, version, current ?? version) };
  }

  #verdict(folder: AgentFolder, state: MachineState, version: string, running: string): Verdict {
    const [envelope, keyChain] = [folder.manifest(version), folder.keyChain()];
    if (envelope === null || keyChain === null)
      return {
        kind: "refused",
        code: "malformed",
        message: "the agent has left no manifest, or no list of keys",
      };
    return acceptRelease({
      envelope,
      keyChain,
      wantedVersion: version,
      builtIn: this.#updater.builtIn,
      known: {
        keys: state.keys,
        highestVersion: state.highest_version,
        badVersions: state.bad_versions.map(({ version: bad }) => bad),
      },
      runningVersion: running,
      architecture: this.#updater.architecture,
      nowMs: this.#updater.runtime.now(),
    });
  }

  async #take(step: Exclude<Step, { do: "end" }>): Promise<void> {
    switch (step.do) {
      case "record":
        return this.#record(step.state);
      case "remove":
        return await this.#folders.remove([...step.drafts, ...step.versions]);
      case "point updater":
        return await this.#folders.pointUpdater(step.to);
      case "stage":
        return await this.#stage(step);
      case "try":
        return this.#try(step.version);
      case "swap":
        return await this.#folders.swap(step.to, step.back);
      case "restart":
        this.#updater.service.restart();
        return this.#change({ restarted: true });
      case "watch":
        return this.#change({
          watched: await this.#watch(step.update.to, step.update.from, step.update.started_uptime_ms),
        });
      case "look at former":
        return this.#change({ formerRuns: await this.#formerRuns(step.version) });
    }
  }

  #change(change: Partial<Done>): void {
    this.#done = { ...this.#done, ...change };
  }

  #record(state: MachineState): void {
    const before = this.#unrecorded ?? readMachineState(this.#updater.root);
    try {
      writeMachineState(this.#updater.root, state);
      this.#unrecorded = null;
    } catch (error) {
      // The way back is gone on a full disk too: its link is ready, and systemd needs no space.
      if (state.phase !== "reverting") throw error;
      this.#unrecorded = state;
      this.#updater.print(`it cannot be remembered: ${error instanceof Error ? error.message : error}`);
    }
    if (state.phase === before.phase && state.phase !== "preparing") return;
    if (state.phase === "preparing") this.#change({ begun: state.update.attempts > 0 });
    else if (state.phase === "reverting") this.#change({ restarted: false });
    else if (state.phase === "idle") this.#done = NOTHING_DONE;
  }

  async #stage({ version, file }: Extract<Step, { do: "stage" }>): Promise<void> {
    const folder = AgentFolder.open(this.#updater.root);
    const source = folder?.openDownloaded(version) ?? null;
    try {
      await this.#folders.stage(version, file, source);
      this.#change({ staged: true });
    } catch (error) {
      if (!(error instanceof StagingFailed)) throw error;
      const { code, message } = error;
      this.#change({ trouble: { code, message, bad: false, refused: code === "wrong_file" } });
    } finally {
      if (source !== null) closeSync(source);
      folder?.close();
    }
  }

  #try(version: string): void {
    const { root, limits } = this.#updater;
    const former = this.#folders.current();
    const trouble = tryVersion(
      version,
      former,
      (each, words) => runAsAgent(root, this.#folders.binaryOf(each), words, limits.tryMs),
      join(root, LAYOUT.region),
    );
    this.#change(trouble === null ? { tried: true } : { trouble: { ...trouble, refused: false } });
  }

  /** What the process that runs says of itself; null when it says nothing. */
  #running(folder: AgentFolder | null): AgentStatus | null {
    const service = this.#updater.service.sight();
    const text = service.kind === "running" ? (folder?.status() ?? null) : null;
    if (text === null || service.kind !== "running") return null;
    try {
      const status = JSON.parse(text) as AgentStatus;
      return isProcessOf(status, service.pid) ? status : null;
    } catch {
      return null;
    }
  }

  async #watch(version: string, former: string, startedMs: number | null): Promise<WatchEnd> {
    const { limits, runtime } = this.#updater;
    const until = runtime.monotonic() + limits.watchMs;
    let memory = watchSince(startedMs ?? this.#updater.machine.uptimeMs());
    let askedAt = Number.NEGATIVE_INFINITY;
    let askOld = false;
    while (runtime.monotonic() < until) {
      let oldIsAnswered: boolean | null = null;
      if (askOld && runtime.monotonic() - askedAt >= limits.askEveryMs) {
        askedAt = runtime.monotonic();
        oldIsAnswered = this.#isAnswered(former);
      }
      const judgement = judge(memory, this.#sight(oldIsAnswered), version, limits);
      if (judgement.end !== null) return judgement.end;
      ({ memory, askOld } = judgement);
      await pausedFully(runtime, limits.lookEveryMs, new AbortController().signal);
      // Somebody else has taken it back.
      if (this.#folders.current() !== version)
        return { kind: "bad", code: "taken_back", message: "it was taken back" };
    }
    return { kind: "open" };
  }

  #sight(oldIsAnswered: boolean | null): Sight {
    const folder = AgentFolder.open(this.#updater.root);
    try {
      const status = this.#running(folder);
      return {
        uptimeMs: this.#updater.machine.uptimeMs(),
        service: this.#updater.service.sight(),
        says:
          status === null
            ? null
            : {
                version: status.version,
                healthAccepted: status.health_accepted_at != null,
                claimAnswered: status.claim_answered_at != null,
              },
        oldIsAnswered,
      };
    } finally {
      folder?.close();
    }
  }

  /** Whether the control plane takes the calls of this version. */
  #isAnswered(version: string): boolean {
    const { root, limits } = this.#updater;
    const words = ["reach", join(root, LAYOUT.region)];
    return runAsAgent(root, this.#folders.binaryOf(version), words, limits.tryMs).status === 0;
  }

  async #formerRuns(version: string): Promise<boolean> {
    const { limits, runtime, service } = this.#updater;
    const until = runtime.monotonic() + limits.formerMs;
    for (;;) {
      const folder = AgentFolder.open(this.#updater.root);
      const running = this.#running(folder);
      folder?.close();
      if (running?.version === version) return true;
      const { kind } = service.sight();
      if (kind === "crashed") return false;
      if (runtime.monotonic() >= until) return kind === "running";
      await pausedFully(runtime, limits.lookEveryMs, new AbortController().signal);
    }
  }
}

function inWords(step: Exclude<Step, { do: "end" }>): string {
  switch (step.do) {
    case "record": {
      const { phase, update, result } = step.state;
      if (phase !== "idle")
        return `${phase}: ${update.from} to ${update.to}${update.reason === null ? "" : `: ${update.reason.message}`}`;
      return result === null
        ? "nothing is under way"
        : `${result.version}: ${result.state}${result.message === null ? "" : `, ${result.code}: ${result.message}`}`;
    }
    case "remove":
      return `remove ${[...step.drafts, ...step.versions].join(", ")}`;
    case "point updater":
      return `the updater is ${step.to} from now on`;
    case "stage":
      return `copy ${step.version} and compare it with its manifest`;
    case "try":
      return `try ${step.version} as the agent's user`;
    case "swap":
      return `${step.to} takes its place`;
    case "restart":
      return "restart the agent";
    case "watch":
      return `watch ${step.update.to}`;
    case "look at former":
      return `look whether ${step.version} runs again`;
  }
}
