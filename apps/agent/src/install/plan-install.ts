// What is missing on this machine, and what uninstalling removes.

import { createHash } from "node:crypto";
import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Action } from "./action.ts";
import { LAYOUT, USER } from "./layout.ts";

/** What the binary brings along. */
export type Source = {
  /** Path of the binary itself. */
  readonly binary: string;
  readonly unit: string;
  readonly regionExample: string;
};

export type InstallPlan = {
  readonly files: readonly Action[];
  /** Commands of systemd, for a machine that runs and not for a folder. */
  readonly commands: readonly Extract<Action, { do: "run" }>[];
  /** Whether a running agent is another one than what is installed then. */
  readonly replacesRunning: boolean;
};

const FOLDERS = [dirname(LAYOUT.binary), LAYOUT.settings].concat(
  [LAYOUT.command, LAYOUT.user, LAYOUT.unit, LAYOUT.wanted].map((path) => dirname(path)),
);

const USER_TEXT = `# The user of the region agent. Made by systemd-sysusers.
u ${USER} - "Kule region agent" ${LAYOUT.state}
`;

export const ENVIRONMENT_TEXT = `# The secrets of the region's agent, read by systemd: one NAME=value a line, no spaces around "=".
KULE_AGENT_TOKEN=
KULE_PVE_TOKEN=
`;

/** Reads only. Nothing is planned where everything is as it should be. */
export function planInstall(root: string, source: Source): InstallPlan {
  const at = (path: string) => join(root, path);
  const folders = [...new Set(FOLDERS)]
    .filter((path) => statSync(at(path), { throwIfNoEntry: false }) === undefined)
    .map((path) => ({ do: "make folder", path }) as const);
  const user = writing(root, LAYOUT.user, USER_TEXT, 0o644);
  const binary: Action[] = isSameFile(at(LAYOUT.binary), source.binary)
    ? modeOf(root, LAYOUT.binary, 0o755)
    : [{ do: "copy", path: LAYOUT.binary, from: source.binary, mode: 0o755 }];
  const command = linking(root, LAYOUT.command, LAYOUT.binary);
  const unit = [
    ...writing(root, LAYOUT.unit, source.unit, 0o644),
    ...linking(root, LAYOUT.wanted, LAYOUT.unit),
  ];
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
    files: [...folders, ...user, ...binary, ...command, ...unit, ...settings],
    commands: [
      ...(hasUser ? [] : [{ do: "run", words: ["systemd-sysusers", LAYOUT.user] } as const]),
      ...(unit.length === 0 ? [] : [{ do: "run", words: ["systemctl", "daemon-reload"] } as const]),
    ],
    replacesRunning: binary.length > 0 || unit.length > 0,
  };
}

export type UninstallPlan = {
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
  const kept = [LAYOUT.environment, LAYOUT.region, LAYOUT.authority, LAYOUT.state];
  const own = [LAYOUT.wanted, LAYOUT.unit, LAYOUT.command, LAYOUT.binary, LAYOUT.user];
  const removed = new Set<string>([...own, ...(purge ? kept : [])].filter(exists));
  const folders = [
    dirname(LAYOUT.binary),
    dirname(dirname(LAYOUT.binary)),
    ...(purge ? [LAYOUT.settings] : []),
  ];
  const emptied = folders.filter((folder) => {
    if (!exists(folder) || !readdirSync(at(folder)).every((name) => removed.has(join(folder, name))))
      return false;
    removed.add(folder);
    return true;
  });
  const hasUser = (textOf(at("/etc/passwd")) ?? "").split("\n").some((line) => line.startsWith(`${USER}:`));
  return {
    before: hasUnit ? [{ do: "run", words: ["systemctl", "disable", "--now", USER] }] : [],
    files: [
      ...[...own, ...(purge ? kept : [])].filter(exists).map((path) => ({ do: "remove", path }) as const),
      ...emptied.map((path) => ({ do: "remove folder", path }) as const),
    ],
    after: [
      ...(hasUnit ? [{ do: "run", words: ["systemctl", "daemon-reload"] } as const] : []),
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

const CHUNK_BYTES = 1 << 20;

function digestOf(path: string): string {
  const hash = createHash("sha256");
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const length = readSync(file, chunk);
      if (length === 0) return hash.digest("hex");
      hash.update(chunk.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}
