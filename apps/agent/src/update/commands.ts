// `kule-agent update`, and what the updater calls of a version.

import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { acceptRelease } from "@kule/agent-release/accept-release";
import type { RegionFile } from "@kule/region-config/region-file";
import { httpCalls } from "../api-calls.ts";
import { ControlPlane } from "../control-plane.ts";
import { InstallRefused } from "../install/install.ts";
import { LAYOUT } from "../install/layout.ts";
import { tokenProblem } from "../own-region.ts";
import { hypervisorClient, preflightSettings, regionEdge, regionSettings } from "../region.ts";
import { type AgentRuntime, agentRuntime, pausedFully } from "../runtime.ts";
import { loadSealingKey } from "../sealing-key.ts";
import type { AgentSettings } from "../settings.ts";
import { type AgentStatus, isRunning, readStatus } from "../status-file.ts";
import { AGENT_VERSION } from "../version.ts";
import { readMachineState, replaceDurably } from "./machine-state.ts";
import { releasesOf } from "./release-source.ts";
import { runAsAgent } from "./run-as-agent.ts";
import { ownArchitecture, releaseKeys, updateHindrance } from "./updatable.ts";
import { WISH_FILE } from "./update-loop.ts";

const EXIT_WRONG = 1;
const never = () => new AbortController().signal;

type Configuration = { readonly file: RegionFile; readonly settings: AgentSettings };

/** Loads what a running agent has, and asks nobody. @throws what an agent would end with */
export function checkSelf({ file, settings }: Configuration): number {
  regionSettings(file);
  preflightSettings(file);
  hypervisorClient(file).close();
  regionEdge(file)?.end();
  // Made by the first run: a version that is tried makes nothing.
  if (existsSync(join(settings.stateDirectory, "sealing-key"))) loadSealingKey(settings.stateDirectory);
  process.stdout.write("ok\n");
  return 0;
}

/** Whether the control plane takes this agent's calls. */
export async function reach({ file }: Configuration): Promise<number> {
  const controlPlane = new ControlPlane({
    calls: httpCalls(file.controlPlane.url, file.controlPlane.token.reveal()),
    runtime: agentRuntime,
    crashPoint: () => {},
  });
  const answer = await controlPlane.me(never());
  const problem = answer.kind === "ok" ? tokenProblem(answer.value, file.region) : answer.message;
  process.stdout.write(`${problem ?? "ok"}\n`);
  return problem === null ? 0 : EXIT_WRONG;
}

/** As the agent's user, with the service's settings: root reads no region file. */
export function checkUpdate(root: string): number {
  if (root === "/" && process.getuid?.() !== 0)
    throw new InstallRefused(
      "update --check reads the agent's settings, for which it needs to be root\n    fix: sudo kule-agent update --check",
    );
  const full = resolve(root);
  const words = ["check-update", join(full, LAYOUT.region), ...(root === "/" ? [] : ["--root", full])];
  const ran = runAsAgent(full, join(full, LAYOUT.binary), words, 120_000, true);
  if (ran.trouble !== null) process.stderr.write(`${ran.trouble}\n`);
  return ran.status ?? EXIT_WRONG;
}

/** Prints what the control plane offers, and whether this agent would take it. */
export async function printOffer({ file, settings }: Configuration, root: string): Promise<number> {
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  print(`version         ${AGENT_VERSION}, ${ownArchitecture()}`);
  const keys = releaseKeys();
  const hindrance = updateHindrance(resolve(root), settings.stateDirectory);
  print(
    `updates itself  ${hindrance === null ? `yes, to what generation ${keys?.generation} of the publisher's keys has signed` : `no: ${hindrance}`}`,
  );
  const wanted = statusOf(settings.stateDirectory)?.update?.wanted ?? null;
  if (wanted === null) {
    print("offered         nothing");
    return 0;
  }
  print(`offered         ${wanted}`);
  const source = releasesOf(file.controlPlane.url, file.controlPlane.token.reveal(), agentRuntime);
  const [chain, manifest] = [await source.keys(never()), await source.manifest(wanted, never())];
  if (chain.kind !== "ok" || manifest.kind !== "ok") {
    const failed = chain.kind === "ok" ? manifest : chain;
    print(`verdict         unknown: ${failed.kind === "ok" ? "" : failed.message}`);
    return EXIT_WRONG;
  }
  const known = readMachineState(resolve(root));
  const verdict = acceptRelease({
    envelope: manifest.value,
    keyChain: chain.value,
    wantedVersion: wanted,
    builtIn: keys,
    known: {
      keys: known.keys,
      highestVersion: known.highest_version,
      badVersions: known.bad_versions.map(({ version }) => version),
    },
    runningVersion: AGENT_VERSION,
    architecture: ownArchitecture(),
    nowMs: agentRuntime.now(),
  });
  print(
    `verdict         ${verdict.kind === "accepted" ? `it would be taken: ${verdict.file.size_bytes} bytes, sha256 ${verdict.file.sha256}` : `${verdict.code}: ${verdict.message}`}`,
  );
  return verdict.kind === "accepted" ? 0 : EXIT_WRONG;
}

function statusOf(directory: string): AgentStatus | null {
  try {
    return readStatus(directory);
  } catch {
    return null;
  }
}

const LOOK_MILLISECONDS = 500;
/** Longer than the agent waits for its jobs and for the updater. */
const LONGEST_UPDATE_MILLISECONDS = 90 * 60_000;

/** Asks the agent that runs for an update, and follows it to its end. @throws InstallRefused */
export async function updateTo(
  version: string,
  root: string,
  runtime: AgentRuntime,
  print: (line: string) => void,
): Promise<number> {
  const full = resolve(root);
  if (full === "/" && process.getuid?.() !== 0)
    throw new InstallRefused(
      "update changes the machine, for which it needs to be root\n    fix: sudo kule-agent update --to VERSION",
    );
  const state = join(full, LAYOUT.state);
  const before = statusOf(state);
  if (before === null || !isRunning(before))
    throw new InstallRefused("no agent runs that could be updated\n    fix: systemctl start kule-agent");
  if (before.version === version) {
    print(`${version} is what runs`);
    return 0;
  }
  const hindrance = before.update?.hindrance ?? null;
  if (hindrance !== null)
    throw new InstallRefused(
      `the agent does not update itself: ${hindrance}\n    fix: call install of the newer binary`,
    );
  const bad = readMachineState(full).bad_versions.find((each) => each.version === version);
  if (bad !== undefined)
    throw new InstallRefused(
      `${version} did not work on this machine: ${bad.message}\n    fix: a newer release, or call install of the binary of ${version} to try it once more`,
    );
  const begunAt = runtime.now();
  const wish = join(full, LAYOUT.update, WISH_FILE);
  replaceDurably(
    wish,
    `${JSON.stringify({ format: 1, version, at: new Date(begunAt).toISOString() })}\n`,
    0o644,
  );
  try {
    return await follow(version, full, begunAt, runtime, print);
  } finally {
    rmSync(wish, { force: true });
  }
}

async function follow(
  version: string,
  root: string,
  begunAt: number,
  runtime: AgentRuntime,
  print: (line: string) => void,
): Promise<number> {
  let shown = "";
  const show = (text: string) => {
    if (text !== shown) print(text);
    shown = text;
  };
  while (runtime.now() - begunAt < LONGEST_UPDATE_MILLISECONDS) {
    const { result, phase } = readMachineState(root);
    const progress = statusOf(join(root, LAYOUT.state))?.update?.progress ?? null;
    const mine = [result, progress].filter(
      (each) => each !== null && each.version === version && Date.parse(each.at) >= begunAt,
    );
    const ended = mine.find((each) => each !== null && ENDS.includes(each.state));
    if (ended != null) {
      show(
        `${version}: ${ended.state.replaceAll("_", " ")}${ended.message === null ? "" : `: ${ended.message}`}`,
      );
      return ended.state === "done" ? 0 : EXIT_WRONG;
    }
    const current = mine.at(-1);
    if (phase !== "idle") show(`${version}: ${phase}`);
    else if (current != null)
      show(`${version}: ${current.state}${current.message === null ? "" : `: ${current.message}`}`);
    await pausedFully(runtime, LOOK_MILLISECONDS, never());
  }
  print(`${version}: it is still not there`);
  return EXIT_WRONG;
}

const ENDS: readonly string[] = ["done", "refused", "rolled_back", "failed"];
