// `kule-agent install` and `kule-agent uninstall`.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import { RegionFileError } from "@kule/region-config/region-file-error";
import { type Action, carryOut, describe } from "./action.ts";
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
  run(words: readonly string[]): void;
};

export const thisMachine: Machine = {
  get isRoot() {
    return process.getuid?.() === 0;
  },
  get hasSystemd() {
    return existsSync("/run/systemd/system");
  },
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
  const { root, runs, act } = prepare("install", options, print, machine);
  const plan = planInstall(root, source);
  const commands = runs ? plan.commands : [];
  for (const action of [...plan.files, ...commands]) act(action);
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
  const { root, runs, act } = prepare("uninstall", options, print, machine);
  const { before, files, after } = planUninstall(root, options.purge);
  const actions = [...(runs ? before : []), ...files, ...(runs ? after : [])];
  for (const action of actions) act(action);
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

/** An EnvironmentFile as systemd reads it, but for values over several lines. */
export function environmentOf(text: string): Record<string, string> {
  const lines = text.split("\n").flatMap((line) => {
    const [, name, value = ""] = /^\s*([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value.trim().replace(/^(["'])(.*)\1$/, "$2")] as const];
  });
  return Object.fromEntries(lines);
}
