// `kule-agent install` and `kule-agent uninstall`.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import { RegionFileError } from "@kule/region-config/region-file-error";
import { takeLock } from "../update/lock.ts";
import { type Action, carryOut, describe } from "./action.ts";
import { environmentOf } from "./environment-file.ts";
import { LAYOUT, USER } from "./layout.ts";
import { planInstall, planUninstall, type Source } from "./plan-install.ts";

export type InstallOptions = {
  readonly root: string;
  readonly dryRun: boolean;
};

/** The machine that is installed on, or a stand-in. */
export type Machine = {
  readonly isRoot: boolean;
  /** Whether systemd is what runs here. */
  readonly hasSystemd: boolean;
  /** For an updater that is about to end. */
  readonly lockSeconds: number;
  run(words: readonly string[]): void;
};

export const thisMachine: Machine = {
  get isRoot() {
    return process.getuid?.() === 0;
  },
  get hasSystemd() {
    return existsSync("/run/systemd/system");
  },
  lockSeconds: 10,
  run: ([program = "", ...words]) => {
    execFileSync(program, words, { stdio: "inherit" });
  },
};

/** It cannot be done as it was called. The message says what to do. */
export class InstallRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "InstallRefused";
  }
}

/** @throws InstallRefused */
export function install(
  source: Source,
  options: InstallOptions & { readonly start: boolean },
  print: (line: string) => void,
  machine: Machine = thisMachine,
): void {
  const { root, runs, act, lock } = prepare("install", options, print, machine);
  const held = lock();
  const plan = planInstall(root, source);
  const commands = runs ? plan.commands : [];
  try {
    for (const action of [...plan.files, ...commands]) act(action);
  } finally {
    held?.release();
  }
  if (plan.files.length + commands.length === 0) print("everything is installed");
  if (root !== "/") print("systemd makes the user and starts the agent when this becomes a machine's root");
  else if (!machine.hasSystemd)
    print(`systemd does not run here: start the agent yourself, ${LAYOUT.binary} run ${LAYOUT.region}`);
  else if (options.start) startIfComplete(plan.replacesRunning, act, print);
}

function startIfComplete(
  replacesRunning: boolean,
  act: (action: Action) => void,
  print: (line: string) => void,
): void {
  const missing = missingSettings();
  if (missing === null) act({ do: "run", words: ["systemctl", replacesRunning ? "restart" : "start", USER] });
  else
    print(`
The agent is not started: its settings are not complete.

${missing}

Write ${LAYOUT.region} (docs/region-file.md) and the tokens into ${LAYOUT.environment}, then:

  kule-agent install`);
}

/** @throws InstallRefused */
export function uninstall(
  options: InstallOptions & { readonly purge: boolean },
  print: (line: string) => void,
  machine: Machine = thisMachine,
): void {
  const { root, runs, act, lock } = prepare("uninstall", options, print, machine);
  const { updates, before, files, after } = planUninstall(root, options.purge);
  const actions = [...(runs ? before : []), ...files, ...(runs ? after : [])];
  if (runs) for (const action of updates) act(action);
  // Without its folder no updater can be at it.
  const held = existsSync(join(root, LAYOUT.update)) ? lock() : null;
  try {
    for (const action of actions) act(action);
  } finally {
    held?.release();
  }
  if (actions.length === 0) print("nothing is installed");
  else if (!options.purge)
    print(
      `kept: ${LAYOUT.settings} with the settings, ${LAYOUT.state} with the agent's key, and the user ${USER}`,
    );
}

function prepare(
  command: string,
  { root, dryRun }: InstallOptions,
  print: (line: string) => void,
  machine: Machine,
) {
  const full = resolve(root);
  if (full === "/" && !dryRun && !machine.isRoot)
    throw new InstallRefused(
      `${command} changes the machine, for which it needs to be root\n    fix: sudo kule-agent ${command}, or look at what it would do: kule-agent ${command} --dry-run`,
    );
  return {
    root: full,
    /** No updater changes what is changed here. */
    lock: () => {
      const held = dryRun ? null : takeLock(full, machine.lockSeconds);
      if (!dryRun && held === null)
        throw new InstallRefused(
          "an update is under way\n    fix: wait for its end (kule-agent status), or stop it: systemctl stop kule-agent-update",
        );
      return held;
    },
    /** In a folder there is nothing that could be asked to start. */
    runs: full === "/" && machine.hasSystemd,
    act: (action: Action) => {
      print(`${dryRun ? "would " : ""}${describe(action)}`);
      if (!dryRun) carryOut(action, full, machine.run);
    },
  };
}

/** What the agent would say when it is started; null when it would work. */
function missingSettings(): string | null {
  try {
    loadRegionFile(LAYOUT.region, environmentOf(readFileSync(LAYOUT.environment, "utf8")));
    return null;
  } catch (error) {
    if (error instanceof RegionFileError) return error.message;
    // A dry run on a machine where nothing is installed yet.
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "EACCES"))
      return error.message;
    throw error;
  }
}
