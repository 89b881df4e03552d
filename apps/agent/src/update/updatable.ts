// Whether the agent that runs can be updated by itself, and the loop that does it.

import { join } from "node:path";
import { type Architecture, isArchitecture } from "@kule/agent-release/release";
import { type ReleaseKeys, readReleaseKeys } from "@kule/agent-release/release-keys";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import type { AgentUpdates } from "../agent.ts";
import type { AgentWatcher } from "../agent-watcher.ts";
import { LAYOUT } from "../install/layout.ts";
import type { Logger } from "../log.ts";
import type { AgentRuntime } from "../runtime.ts";
import { AGENT_VERSION, RELEASE_KEYS_TEXT } from "../version.ts";
import { DOWNLOAD_LIMITS } from "./download.ts";
import type { ReleaseSource } from "./release-source.ts";
import { type Claims, UpdateLoop, type UpdateLoopLimits } from "./update-loop.ts";
import { VersionFolders } from "./versions.ts";

/** Of this build; null when it has none. */
export const releaseKeys = (): ReleaseKeys | null => readReleaseKeys(RELEASE_KEYS_TEXT);

export function ownArchitecture(): Architecture {
  return isArchitecture(process.arch) ? process.arch : "x64";
}

/** Why the agent with this state folder is not updated by itself; null when it is. */
export function updateHindrance(root: string, stateDirectory: string): string | null {
  if (releaseKeys() === null) return "this build has no keys of a publisher";
  if (!isArchitecture(process.arch)) return `there are no releases for ${process.arch}`;
  if (stateDirectory !== join(root, LAYOUT.state)) return `its state folder is not ${LAYOUT.state}`;
  const folders = new VersionFolders(root, () => {});
  if (folders.current() !== AGENT_VERSION || folders.updater() === null)
    return "it is not what kule-agent install has installed";
  return null;
}

export const UPDATE_LIMITS: UpdateLoopLimits = {
  ...DOWNLOAD_LIMITS,
  lookEveryMs: 1_000,
  drainMs: 30 * 60_000,
  answerMs: 15 * 60_000,
  againMs: 60 * 60_000,
};

export type UpdateParts = {
  readonly source: ReleaseSource;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly watcher: AgentWatcher;
  /** Where the machine's files are. */
  readonly root: string;
  readonly stateDirectory: string;
  readonly limits: UpdateLoopLimits;
};

export function agentUpdates(parts: UpdateParts, claims: Claims, crashPoint: CrashHook): AgentUpdates {
  const architecture = ownArchitecture();
  const builtIn = releaseKeys();
  const hindrance = updateHindrance(parts.root, parts.stateDirectory);
  if (hindrance !== null || builtIn === null) {
    parts.watcher.updateChanged({ hindrance, wanted: null, progress: null });
    return { architecture, canUpdate: false, progress: null, wants: () => {}, run: async () => {} };
  }
  const loop = new UpdateLoop({
    ...parts,
    claims,
    crashPoint,
    builtIn,
    architecture,
    runningVersion: AGENT_VERSION,
  });
  return {
    architecture,
    canUpdate: true,
    get progress() {
      return loop.progress;
    },
    wants: (version) => loop.wants(version),
    run: (stop) => loop.run(stop),
  };
}
