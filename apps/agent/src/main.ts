#!/usr/bin/env node
import { resolve } from "node:path";
import { getAsset, isSea } from "node:sea";
import { batteryHook } from "@kule/crash-points/crash-hook";
import { ProxmoxError } from "@kule/proxmox/errors";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import type { RegionFile } from "@kule/region-config/region-file";
import { RegionFileError } from "@kule/region-config/region-file-error";
import { runAgent } from "./agent.ts";
import { httpCalls } from "./api-calls.ts";
import { checkRegion } from "./check.ts";
import { parseCommandLine } from "./command-line.ts";
import { conformance } from "./conformance.ts";
import { conformancePlan } from "./conformance-settings.ts";
import { ControlPlane, Unanswered } from "./control-plane.ts";
import { dryRun } from "./dry-run.ts";
import { enrol } from "./enrol/enrol.ts";
import { findingsTable, isReady } from "./findings-table.ts";
import { hasAllImages, imagesTable, regionImages } from "./images.ts";
import { InstallRefused, install, uninstall } from "./install/install.ts";
import type { Source } from "./install/plan-install.ts";
import { type Logger, makeLog } from "./log.ts";
import { WrongRegion } from "./own-region.ts";
import { hypervisorClient } from "./region.ts";
import { agentRuntime } from "./runtime.ts";
import { StateUnusable } from "./sealing-key.ts";
import { type AgentSettings, agentSettings, SettingsError } from "./settings.ts";
import { showStatus } from "./show-status.ts";
import { StatusFile } from "./status-file.ts";
import { applyUpdates, updaterMachine } from "./update/apply-update.ts";
import { checkSelf, checkUpdate, printOffer, reach, updateTo } from "./update/commands.ts";
import { StateUnreadable } from "./update/machine-state.ts";
import { releasesOf } from "./update/release-source.ts";
import { systemdService } from "./update/service.ts";
import { testSettings } from "./update/test-settings.ts";
import { agentUpdates, ownArchitecture, releaseKeys } from "./update/updatable.ts";
import { AGENT_VERSION } from "./version.ts";

const EXIT_WRONG = 1;
const EXIT_USAGE = 2;
/** EX_CONFIG of sysexits.h: starting again would not help, and the systemd unit does not. */
const EXIT_CONFIG = 78;
/** Within the ten seconds that a stop may take. */
const STOP_MILLISECONDS = 9_000;

const STOP_SIGNALS = [
  ["SIGTERM", 15],
  ["SIGINT", 2],
] as const;

type Configuration = { readonly file: RegionFile; readonly settings: AgentSettings };

async function main(args: readonly string[]): Promise<number> {
  const call = parseCommandLine(args);
  if ("text" in call) {
    process[call.isError ? "stderr" : "stdout"].write(call.text);
    return call.isError ? EXIT_USAGE : 0;
  }
  try {
    switch (call.command) {
      case "conformance":
        return await tryConformance(call.path);
      case "status":
        return status(call.state, call.json);
      case "install":
        install(ownSource(), call, printLine);
        return 0;
      case "enrol":
        await enrol(call, isSea() ? getAsset("region.example.yaml", "utf8") : null, printLine);
        return 0;
      case "uninstall":
        uninstall(call, printLine);
        return 0;
      case "update":
        return call.to === null
          ? await checkUpdate(call.root)
          : await updateTo(call.to, call.root, agentRuntime, printLine);
      case "apply-update":
        return await applyUpdate(call.root);
      case "check-self":
        return checkSelf(configuration(call.path));
      case "reach":
        return await reach(configuration(call.path));
      case "check-update":
        return await printOffer(configuration(call.path), call.root);
      case "run":
        return await { service: run, once: runOnce, "dry run": planOnly }[call.mode](
          configuration(call.path),
        );
      case "check":
        return await check(configuration(call.path));
      case "images":
        return await images(configuration(call.path));
    }
  } catch (error) {
    if (error instanceof InstallRefused || error instanceof StateUnreadable) {
      process.stderr.write(`${error.message}\n`);
      return EXIT_WRONG;
    }
    if (!isConfigurationError(error)) throw error;
    process.stderr.write(`${error.message}\n`);
    return call.command === "check" ? EXIT_WRONG : EXIT_CONFIG;
  }
}

const printLine = (line: string) => void process.stdout.write(`${line}\n`);

function configuration(path: string): Configuration {
  const file = loadRegionFile(path, process.env);
  return { file, settings: agentSettings(file, process.env) };
}

/** What the binary installs. @throws InstallRefused when this is not the binary */
function ownSource(): Source {
  if (!isSea())
    throw new InstallRefused(
      "only the binary installs itself: it is one file with everything in it\n    fix: npm run agent-binary, and call install of what that built",
    );
  const asset = (name: string) => getAsset(name, "utf8");
  return {
    binary: process.execPath,
    version: AGENT_VERSION,
    unit: asset("kule-agent.service"),
    updateUnit: asset("kule-agent-update.service"),
    updatePath: asset("kule-agent-update.path"),
    updateTimer: asset("kule-agent-update.timer"),
    regionExample: getAsset("region.example.yaml", "utf8"),
  };
}

function status(state: string | null, json: boolean): number {
  const { text, exit } = showStatus(state, process.env, { json, now: agentRuntime.now() });
  process.stdout.write(text);
  return exit;
}

function isConfigurationError(error: unknown): error is Error {
  return [RegionFileError, SettingsError, StateUnusable, WrongRegion].some((each) => error instanceof each);
}

/** The first signal cancels it, and everything it has created is removed; the second one ends it at once. */
async function tryConformance(path: string | null): Promise<number> {
  const plan = conformancePlan(path === null ? null : loadRegionFile(path, process.env), process.env);
  const stop = new AbortController();
  for (const [signal, number] of STOP_SIGNALS)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(128 + number);
      process.stdout.write(
        "\ncleaning up; press Ctrl+C again to end at once, which leaves what was created\n",
      );
      stop.abort(new Error("called off"));
    });
  const end = await conformance(plan, stop.signal, (text) => void process.stdout.write(text));
  return end === "as expected" ? 0 : EXIT_WRONG;
}

const run = (configuration: Configuration) => work(configuration, false);
const runOnce = (configuration: Configuration) => work(configuration, true);

async function work({ file, settings }: Configuration, once: boolean): Promise<number> {
  const secrets = [file.controlPlane.token, file.hypervisor.token].map((secret) => secret.reveal());
  const [, hypervisorSecret = ""] = file.hypervisor.token.reveal().split("=", 2);
  const log = makeLog({ secrets: [...secrets, hypervisorSecret], level: settings.logLevel });
  const stop = stopOnSignals(log);
  const watcher = new StatusFile(
    settings.stateDirectory,
    {
      version: AGENT_VERSION,
      name: settings.name,
      region: file.region,
      control_plane: file.controlPlane.url,
    },
    agentRuntime,
    log,
  );
  try {
    await runAgent(file, settings, process.env, log, stop, {
      once,
      watcher,
      updates: (claims, crashPoint) =>
        agentUpdates(
          {
            source: releasesOf(file.controlPlane.url, file.controlPlane.token.reveal(), agentRuntime),
            runtime: agentRuntime,
            log,
            watcher,
            root: testSettings.root ?? "/",
            stateDirectory: settings.stateDirectory,
            limits: testSettings.updateLimits,
          },
          claims,
          crashPoint,
        ),
    });
    watcher.stopped();
    return 0;
  } catch (error) {
    if (error instanceof Unanswered) {
      log.error({ reason: error.message }, "the control plane does not answer");
      return EXIT_WRONG;
    }
    log.fatal({ alarm: true, err: error }, error instanceof Error ? error.message : "the agent broke");
    return isConfigurationError(error) ? EXIT_CONFIG : EXIT_WRONG;
  }
}

async function planOnly({ file, settings }: Configuration): Promise<number> {
  const stop = new AbortController();
  for (const [signal, number] of STOP_SIGNALS)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(128 + number);
      stop.abort();
    });
  try {
    const jobs = await dryRun(file, settings, process.env, printLine, stop.signal);
    printLine(`${jobs} jobs planned, and handed back; nothing was changed`);
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    if (!(error instanceof Unanswered)) throw error;
    process.stderr.write(`the control plane does not answer: ${error.message}\n`);
    return EXIT_WRONG;
  }
}

/** Of the unit kule-agent-update. Somebody else who is at it is no failure. */
async function applyUpdate(root: string): Promise<number> {
  if (root === "/" && process.getuid?.() !== 0)
    throw new InstallRefused("apply-update changes the machine, for which it needs to be root");
  const full = resolve(root);
  const end = await applyUpdates({
    root: full,
    machine: updaterMachine(full),
    builtIn: releaseKeys(),
    architecture: ownArchitecture(),
    service: systemdService,
    runtime: agentRuntime,
    crashPoint: batteryHook(process.env),
    limits: testSettings.updaterLimits,
    print: printLine,
  });
  if (end === "locked") printLine("another updater, or an installation, is at it");
  return 0;
}

/** The first signal stops gracefully, within ten seconds; the second one at once. */
function stopOnSignals(log: Logger): AbortSignal {
  const stop = new AbortController();
  for (const [signal, number] of STOP_SIGNALS)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(128 + number);
      // The process ends with main, so the timer never delays it.
      agentRuntime.after(STOP_MILLISECONDS, () => {
        log.warn("not all jobs could be released in time; their leases expire by themselves");
        process.exit(0);
      });
      stop.abort();
    });
  return stop.signal;
}

async function check({ file, settings }: Configuration): Promise<number> {
  const controlPlane = new ControlPlane({
    calls: httpCalls(file.controlPlane.url, file.controlPlane.token.reveal()),
    runtime: agentRuntime,
    crashPoint: () => {},
  });
  const findings = await checkRegion(file, settings.stateDirectory, controlPlane, agentRuntime);
  process.stdout.write(`${findingsTable(findings)}\n`);
  return isReady(findings) ? 0 : EXIT_WRONG;
}

async function images({ file }: Configuration): Promise<number> {
  const client = hypervisorClient(file);
  try {
    const found = await regionImages(file, client);
    process.stdout.write(`${imagesTable(found, file.storage)}\n`);
    return hasAllImages(found) ? 0 : EXIT_WRONG;
  } catch (error) {
    if (!(error instanceof ProxmoxError)) throw error;
    process.stderr.write(
      `hypervisor: ${error.message}\n${error.facts.fix === null ? "" : `fix: ${error.facts.fix}\n`}`,
    );
    return EXIT_WRONG;
  } finally {
    client.close();
  }
}

process.exit(await main(process.argv.slice(2)));
