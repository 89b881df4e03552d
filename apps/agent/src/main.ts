#!/usr/bin/env node
import { parseArgs } from "node:util";
import { ProxmoxError } from "@kule/proxmox/errors";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import type { RegionFile } from "@kule/region-config/region-file";
import { RegionFileError } from "@kule/region-config/region-file-error";
import { runAgent } from "./agent.ts";
import { httpCalls } from "./api-calls.ts";
import { checkRegion } from "./check.ts";
import { conformance } from "./conformance.ts";
import { conformancePlan } from "./conformance-settings.ts";
import { ControlPlane } from "./control-plane.ts";
import { findingsTable, isReady } from "./findings-table.ts";
import { hasAllImages, imagesTable, regionImages } from "./images.ts";
import { type Logger, makeLog } from "./log.ts";
import { WrongRegion } from "./own-region.ts";
import { hypervisorClient } from "./region.ts";
import { agentRuntime } from "./runtime.ts";
import { StateUnusable } from "./sealing-key.ts";
import { type AgentSettings, agentSettings, SettingsError } from "./settings.ts";
import { AGENT_VERSION } from "./version.ts";

const HELP = `kule-agent ${AGENT_VERSION}: drives one region for the Kule control plane

  kule-agent run <region.yaml>     take jobs and run them until SIGTERM
  kule-agent check <region.yaml>   look at everything the region file names, print what is wrong and how to fix it
  kule-agent images <region.yaml>  list the templates that the region file names, and how to make those that are missing
  kule-agent conformance [region.yaml]
                                   try every call of the driver on a TEST cluster, print where the answers differ
  kule-agent --version
  kule-agent --help

Environment
  KULE_AGENT_TOKEN            the agent's token, unless control_plane names another place
  KULE_PVE_TOKEN              or whatever hypervisor.token_env names: USER@REALM!NAME=SECRET
  KULE_AGENT_CONCURRENCY      jobs at the same time (default: agent.concurrency, 4)
  KULE_AGENT_HEALTH_SECONDS   seconds between health reports (default: agent.health_seconds, 20)
  KULE_AGENT_INVENTORY_SECONDS  seconds between two looks at the region (default: agent.inventory_seconds, 30)
  KULE_AGENT_STATE            folder of the key pair (default: agent.state_dir, .kule-agent beside the region file)
  KULE_LOG_LEVEL              trace, debug, info, warn, error (default: info)
  KULE_PVE_URL, _FINGERPRINT or _CA, _STORAGE, _BRIDGE, _TEMPLATE
                              for conformance, where there is no region file or another one is meant
  KULE_PVE_VMIDS              for conformance: VM numbers that it may destroy, 29990-29995; nobody may have them
  KULE_PVE_AGENT_SECONDS      for conformance: until the guest's agent answers (default: 180)
  NODE_EXTRA_CA_CERTS         PEM file with the certificate authority of a private control plane

Exit status
  0  done, or everything is in order    1  check, images or conformance found something wrong, or the agent broke
  2  not called as above                78 the configuration cannot be used
`;

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
  const call = parse(args);
  if (typeof call === "number") return call;
  try {
    if (call.command === "conformance") return await tryConformance(call.path);
    const file = loadRegionFile(call.path, process.env);
    const configuration = { file, settings: agentSettings(file, process.env) };
    return await { run, check, images }[call.command](configuration);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    process.stderr.write(`${error.message}\n`);
    return call.command === "check" ? EXIT_WRONG : EXIT_CONFIG;
  }
}

function isConfigurationError(error: unknown): error is Error {
  return [RegionFileError, SettingsError, StateUnusable, WrongRegion].some((each) => error instanceof each);
}

type Call =
  | { readonly command: "run" | "check" | "images"; readonly path: string }
  | { readonly command: "conformance"; readonly path: string | null };

function parse(args: readonly string[]): Call | number {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: "boolean", short: "h" }, version: { type: "boolean", short: "V" } },
    });
    if (values.help) {
      process.stdout.write(HELP);
      return 0;
    }
    if (values.version) {
      process.stdout.write(`${AGENT_VERSION}\n`);
      return 0;
    }
    const [command, path, ...more] = positionals;
    if (
      (command === "run" || command === "check" || command === "images") &&
      path !== undefined &&
      more.length === 0
    )
      return { command, path };
    if (command === "conformance" && more.length === 0) return { command, path: path ?? null };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n`);
  }
  process.stderr.write(HELP);
  return EXIT_USAGE;
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

async function run({ file, settings }: Configuration): Promise<number> {
  const secrets = [file.controlPlane.token, file.hypervisor.token].map((secret) => secret.reveal());
  const [, hypervisorSecret = ""] = file.hypervisor.token.reveal().split("=", 2);
  const log = makeLog({ secrets: [...secrets, hypervisorSecret], level: settings.logLevel });
  const stop = stopOnSignals(log);
  try {
    await runAgent(file, settings, process.env, log, stop);
    return 0;
  } catch (error) {
    log.fatal({ alarm: true, err: error }, error instanceof Error ? error.message : "the agent broke");
    return isConfigurationError(error) ? EXIT_CONFIG : EXIT_WRONG;
  }
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
