// What is missing on this machine, and what uninstalling removes.

import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { newerOf } from "@kule/agent-release/version";
import { type MachineState, NO_STATE, readMachineState, stateFile } from "../update/machine-state.ts";
import { digestOf, linkTo } from "../update/versions.ts";
import type { Action } from "./action.ts";
import { BINARY_NAME, LAYOUT, USER } from "./layout.ts";

/** What the binary brings along. */
export type Source = {
  /** Path of the binary itself. */
  readonly binary: string;
  readonly version: string;
  readonly unit: string;
  readonly updateUnit: string;
  readonly updatePath: string;
  readonly updateTimer: string;
  readonly regionExample: string;
};

export type InstallPlan = {
  readonly files: readonly Action[];
  /** Commands of systemd, for a machine that runs and not for a folder. */
  readonly commands: readonly Extract<Action, { do: "run" }>[];
  /** Whether a running agent is another one than what is installed then. */
  readonly replacesRunning: boolean;
};

const FOLDERS = [dirname(LAYOUT.binary), LAYOUT.versions, LAYOUT.update, LAYOUT.settings].concat(
  [LAYOUT.command, LAYOUT.user, LAYOUT.unit, LAYOUT.wanted, LAYOUT.updateTimerWanted].map((path) =>
    dirname(path),
  ),
);

const USER_TEXT = `# The user of the region agent. Made by systemd-sysusers.
u ${USER} - "Kule region agent" ${LAYOUT.state}
`;

export const ENVIRONMENT_TEXT = `# The secrets of the region's agent, read by systemd: one NAME=value a line, no spaces around "=".
KULE_AGENT_TOKEN=
KULE_PVE_TOKEN=
`;

/** What starts the updater. */
const UPDATE_UNITS = [basename(LAYOUT.updatePath), basename(LAYOUT.updateTimer)] as const;

/** What root installs by hand counts as proven, and ends an update that was under way. */
function remembering(root: string, version: string): Action[] {
  const path = join(LAYOUT.update, basename(stateFile("/")));
  const before = textOf(join(root, path)) === null ? null : readMachineState(root);
  const state: MachineState = {
    ...(before ?? NO_STATE),
    phase: "idle",
    update: null,
    highest_version: newerOf(before?.highest_version ?? null, version),
    bad_versions: (before?.bad_versions ?? []).filter((bad) => bad.version !== version),
  };
  const isAsItShould =
    before !== null &&
    before.phase === "idle" &&
    before.highest_version === state.highest_version &&
    before.bad_versions.length === state.bad_versions.length;
  return isAsItShould
    ? []
    : [{ do: "write", path, text: `${JSON.stringify(state, null, 2)}\n`, mode: 0o644 }];
}

/** Reads only. Nothing is planned where everything is as it should be. */
export function planInstall(root: string, source: Source): InstallPlan {
  const at = (path: string) => join(root, path);
  const place = join(LAYOUT.versions, source.version, BINARY_NAME);
  const folders = [...new Set([...FOLDERS, dirname(place)])]
    .filter((path) => statSync(at(path), { throwIfNoEntry: false }) === undefined)
    .map((path) => ({ do: "make folder", path }) as const);
  const user = writing(root, LAYOUT.user, USER_TEXT, 0o644);
  const binary: Action[] = [
    ...(isSameFile(at(place), source.binary)
      ? modeOf(root, place, 0o755)
      : [{ do: "copy", path: place, from: source.binary, mode: 0o755 } as const]),
    // Before its time the binary itself was where the link is.
    ...linking(root, LAYOUT.binary, linkTo(source.version, "bin")),
  ];
  const links = [
    ...linking(root, LAYOUT.updater, linkTo(source.version, "top")),
    ...linking(root, LAYOUT.command, LAYOUT.binary),
  ];
  const unit = [
    ...writing(root, LAYOUT.unit, source.unit, 0o644),
    ...linking(root, LAYOUT.wanted, LAYOUT.unit),
  ];
  const updates = [
    ...writing(root, LAYOUT.updateUnit, source.updateUnit, 0o644),
    ...writing(root, LAYOUT.updatePath, source.updatePath, 0o644),
    ...writing(root, LAYOUT.updateTimer, source.updateTimer, 0o644),
    ...linking(root, LAYOUT.updatePathWanted, LAYOUT.updatePath),
    ...linking(root, LAYOUT.updateTimerWanted, LAYOUT.updateTimer),
  ];
  const state = remembering(root, source.version);
  const settings = [
    // The tokens: whatever is in it stays, and only root reads it.
    ...(textOf(at(LAYOUT.environment)) === null
      ? [{ do: "write", path: LAYOUT.environment, text: ENVIRONMENT_TEXT, mode: 0o600 } as const]
      : modeOf(root, LAYOUT.environment, 0o600)),
    ...(textOf(at(LAYOUT.region)) === null
      ? [{ do: "write", path: LAYOUT.region, text: source.regionExample, mode: 0o644 } as const]
      : []),
  ];
  const hasUser = (textOf(at("/etc/passwd")) ?? "").split("\n").some((line) => line.startsWith(`${USER}:`));
  return {
    files: [...folders, ...user, ...binary, ...links, ...state, ...unit, ...updates, ...settings],
    commands: [
      ...(hasUser ? [] : [{ do: "run", words: ["systemd-sysusers", LAYOUT.user] } as const]),
      ...(unit.length + updates.length === 0
        ? []
        : [{ do: "run", words: ["systemctl", "daemon-reload"] } as const]),
      ...(updates.length === 0
        ? []
        : [{ do: "run", words: ["systemctl", "restart", ...UPDATE_UNITS] } as const]),
    ],
    replacesRunning: binary.length > 0 || unit.length > 0,
  };
}

export type UninstallPlan = {
  /** Before everything else, while the service still runs. */
  readonly updates: readonly Extract<Action, { do: "run" }>[];
  /** Before the files are removed. */
  readonly before: readonly Extract<Action, { do: "run" }>[];
  readonly files: readonly Action[];
  readonly after: readonly Extract<Action, { do: "run" }>[];
};

/** @param purge the settings and the agent's state too */
export function planUninstall(root: string, purge: boolean): UninstallPlan {
  const at = (path: string) => join(root, path);
  const exists = (path: string) => lstatSync(at(path), { throwIfNoEntry: false }) !== undefined;
  const hasUnit = exists(LAYOUT.unit);
  const hasUpdates = exists(LAYOUT.updateUnit);
  const kept = [LAYOUT.environment, LAYOUT.region, LAYOUT.authority, LAYOUT.state];
  const own = [
    ...[LAYOUT.updatePathWanted, LAYOUT.updateTimerWanted, LAYOUT.wanted],
    ...[LAYOUT.updateUnit, LAYOUT.updatePath, LAYOUT.updateTimer, LAYOUT.unit],
    ...[LAYOUT.command, LAYOUT.updater, dirname(LAYOUT.binary), LAYOUT.versions, LAYOUT.update, LAYOUT.user],
  ];
  const removed = new Set<string>([...own, ...(purge ? kept : [])].filter(exists));
  const folders = [dirname(LAYOUT.versions), ...(purge ? [LAYOUT.settings] : [])];
  const emptied = folders.filter((folder) => {
    if (!exists(folder) || !readdirSync(at(folder)).every((name) => removed.has(join(folder, name))))
      return false;
    removed.add(folder);
    return true;
  });
  const hasUser = (textOf(at("/etc/passwd")) ?? "").split("\n").some((line) => line.startsWith(`${USER}:`));
  return {
    // An updater that is stopped would take a service that is gone for one that has crashed.
    updates: hasUpdates
      ? [
          { do: "run", words: ["systemctl", "disable", "--now", ...UPDATE_UNITS] },
          { do: "run", words: ["systemctl", "stop", basename(LAYOUT.updateUnit)] },
        ]
      : [],
    before: hasUnit ? [{ do: "run", words: ["systemctl", "disable", "--now", USER] }] : [],
    files: [
      ...[...own, ...(purge ? kept : [])].filter(exists).map((path) => ({ do: "remove", path }) as const),
      ...emptied.map((path) => ({ do: "remove folder", path }) as const),
    ],
    after: [
      ...(hasUnit || hasUpdates ? [{ do: "run", words: ["systemctl", "daemon-reload"] } as const] : []),
      // Its files would belong to a number that another user gets one day.
      ...(purge && hasUser ? [{ do: "run", words: ["userdel", USER] } as const] : []),
    ],
  };
}

function writing(root: string, path: string, text: string, mode: number): Action[] {
  return textOf(join(root, path)) === text ? modeOf(root, path, mode) : [{ do: "write", path, text, mode }];
}

function modeOf(root: string, path: string, mode: number): Action[] {
  const now = statSync(join(root, path)).mode & 0o7777;
  return now === mode ? [] : [{ do: "set mode", path, mode }];
}

function linking(root: string, path: string, to: string): Action[] {
  try {
    if (readlinkSync(join(root, path)) === to) return [];
  } catch {
    // There is none, or it is a file.
  }
  return [{ do: "link", path, to }];
}

/** Null when there is no such file. */
export function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (a === undefined || b === undefined || a.size !== b.size) return false;
  return (a.ino === b.ino && a.dev === b.dev) || digestOf(one) === digestOf(other);
}
