// What root remembers of updates, in a file that the agent reads: which update is under way and how far it is, what has run here,
// what did not work, and how the last one ended.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asReleaseKeys, type ReleaseKeys } from "@kule/agent-release/release-keys";
import { isVersion } from "@kule/agent-release/version";
import { LAYOUT } from "../install/layout.ts";

export type UpdateReason = { readonly code: string; readonly message: string };

export type UpdateUnderWay = {
  readonly from: string;
  readonly to: string;
  readonly request_id: string;
  /** How often an updater has taken it up. */
  readonly attempts: number;
  /** How often the machine was started since the new version runs. */
  readonly boots: number;
  readonly boot_id: string;
  /** By the machine's uptime; null before the new version was started. */
  readonly started_uptime_ms: number | null;
  /** Of the phase. */
  readonly since: string;
  /** Why it is taken back; null as long as it is not. */
  readonly reason: UpdateReason | null;
};

export type UpdateResult = {
  readonly version: string;
  readonly request_id: string;
  readonly state: "done" | "refused" | "rolled_back" | "failed";
  readonly code: string | null;
  readonly message: string | null;
  readonly at: string;
};

type Memory = {
  readonly format: 1;
  /** The newest generation that was accepted here. */
  readonly keys: ReleaseKeys | null;
  readonly highest_version: string | null;
  readonly bad_versions: readonly (UpdateReason & { readonly version: string; readonly at: string })[];
  readonly result: UpdateResult | null;
};

/**
 * `preparing`: the new version is copied and tried, and the old one runs. `swapping`: the new one takes its place. `watching`: it
 * runs and has to prove itself. `reverting`: the old one takes its place again.
 */
export type MachineState = Memory &
  (
    | { readonly phase: "idle"; readonly update: null }
    | { readonly phase: "preparing" | "swapping" | "watching" | "reverting"; readonly update: UpdateUnderWay }
  );

export const PHASES = ["idle", "preparing", "swapping", "watching", "reverting"] as const;

export const NO_STATE: MachineState = {
  format: 1,
  phase: "idle",
  update: null,
  keys: null,
  highest_version: null,
  bad_versions: [],
  result: null,
};

/** The last ones. */
export const MOST_BAD_VERSIONS = 50;

/** The file is not one of ours: it is not guessed what it may have said. */
export class StateUnreadable extends Error {
  constructor(path: string) {
    super(`${path} is not a state of updates\n    fix: remove it, and call kule-agent install`);
    this.name = "StateUnreadable";
  }
}

export const stateFile = (root: string): string => join(root, LAYOUT.update, "state.json");

/** @throws StateUnreadable */
export function readMachineState(root: string): MachineState {
  const path = stateFile(root);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return NO_STATE;
    throw error;
  }
  try {
    const value = JSON.parse(text) as MachineState;
    if (isState(value)) return value;
  } catch {
    // Below.
  }
  throw new StateUnreadable(path);
}

function isState(value: MachineState): boolean {
  const isVersionText = (text: unknown) => typeof text === "string" && isVersion(text);
  if (value.format !== 1 || !PHASES.includes(value.phase)) return false;
  if ((value.phase === "idle") !== (value.update === null)) return false;
  if (value.update !== null && !(isVersionText(value.update.from) && isVersionText(value.update.to)))
    return false;
  return (
    (value.keys === null || asReleaseKeys(value.keys) !== null) &&
    (value.highest_version === null || isVersionText(value.highest_version)) &&
    Array.isArray(value.bad_versions) &&
    value.bad_versions.every(({ version }) => isVersionText(version)) &&
    (value.result === null || isVersionText(value.result.version))
  );
}

export function writeMachineState(root: string, state: MachineState): void {
  replaceDurably(stateFile(root), `${JSON.stringify(state, null, 2)}\n`, 0o644);
}

/** After a loss of power there is the old file or the new one, never half of one. */
export function replaceDurably(path: string, text: string, mode: number): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", mode);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  syncFolder(dirname(path));
}

export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
