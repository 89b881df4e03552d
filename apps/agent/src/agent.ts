// One running agent: it confirms its region, then reports health and scans, and runs jobs until it is
// stopped.

import { batteryHook, type CrashHook } from "@kule/crash-points/crash-hook";
import { kindsFor } from "@kule/programs/registry";
import { ProxmoxConsoles } from "@kule/proxmox/console";
import type { RegionFile } from "@kule/region-config/region-file";
import type { Environment } from "@kule/region-config/secret-references";
import { keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import type { AgentWatcher } from "./agent-watcher.ts";
import { type ApiCalls, httpCalls } from "./api-calls.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { runConsoleLoop } from "./console-loop.ts";
import { ControlPlane } from "./control-plane.ts";
import { edgeHealth } from "./edge-health.ts";
import { type HealthLoopOptions, type HealthUpdates, reportHealth, runHealthLoop } from "./health-loop.ts";
import { runInventoryLoop } from "./inventory-loop.ts";
import { runLoadBalancerLoop } from "./load-balancer-loop.ts";
import type { Logger } from "./log.ts";
import { confirmRegion, confirmRegionNow } from "./own-region.ts";
import {
  hypervisorClient,
  jobRunner,
  loadBalancerAsker,
  regionEdge,
  regionScanner,
  templateVmids,
} from "./region.ts";
import { regionHealth } from "./region-health.ts";
import { agentRuntime } from "./runtime.ts";
import { loadSealingKey } from "./sealing-key.ts";
import type { AgentSettings } from "./settings.ts";
import { AGENT_VERSION } from "./version.ts";

/** After this, what is still running when the agent stops is aborted. */
const GRACE_MILLISECONDS = 1_500;

export type AgentOptions = {
  /** The control plane's; direct mode has them in its own process. Over HTTP when left out. */
  readonly calls?: ApiCalls;
  readonly watcher?: AgentWatcher;
  /** How this agent is updated; left out for one that is no binary of its own. */
  readonly updates?: (claims: ClaimLoop, crashPoint: CrashHook) => AgentUpdates;
  /** Reports health, runs what waits now, and ends. */
  readonly once?: boolean;
};

export type AgentUpdates = HealthUpdates & {
  /** Works until the signal. */
  run(stop: AbortSignal): Promise<void>;
};

/**
 * Works until the signal, then hands its jobs back. Throws WrongRegion and StateUnusable before it has begun, and with
 * `once` Unanswered when the control plane does not answer.
 */
export async function runAgent(
  file: RegionFile,
  settings: AgentSettings,
  environment: Environment,
  log: Logger,
  stop: AbortSignal,
  options: AgentOptions = {},
): Promise<void> {
  const { calls = httpCalls(file.controlPlane.url, file.controlPlane.token.reveal()), once = false } =
    options;
  const runtime = agentRuntime;
  const key = loadSealingKey(settings.stateDirectory);
  const crashPoint = batteryHook(environment);
  const controlPlane = new ControlPlane({ calls, runtime, crashPoint });
  const client = hypervisorClient(file, (record) => log.debug({ hypervisor: record }, "hypervisor call"));
  const router = regionEdge(file);
  const edge = router?.edge ?? null;
  const kinds = kindsFor(edge !== null);
  const common = {
    controlPlane,
    runtime,
    log,
    agentVersion: AGENT_VERSION,
    agentName: settings.name,
    watcher: options.watcher,
  };
  log.info(
    {
      version: AGENT_VERSION,
      region: file.region,
      control_plane: file.controlPlane.url,
      key: keyFingerprint(key.publicKey),
      pid: process.pid,
    },
    "agent starting",
  );
  try {
    if (once) await confirmRegionNow(file.region, controlPlane, stop);
    else if (!(await confirmRegion(file.region, common, stop))) return;
    const claims = new ClaimLoop({
      ...common,
      crashPoint,
      capabilities: kinds,
      publicKey: key.publicKey,
      concurrency: settings.concurrency,
      run: jobRunner(file, client, edge, key, runtime),
    });
    const updates = options.updates?.(claims, crashPoint);
    const healthOptions: HealthLoopOptions = {
      ...common,
      updates,
      publicKey: key.publicKey,
      everySeconds: settings.healthSeconds,
      look: async () => {
        const [hypervisor, router] = await Promise.all([
          regionHealth(client, templateVmids(file)),
          edgeHealth(edge, runtime),
        ]);
        return { ...hypervisor, edge: router };
      },
    };
    if (once) {
      await reportHealth(healthOptions, stop);
      await workOnce(claims, log, stop);
      return;
    }
    const health = runHealthLoop(healthOptions, stop);
    const inventory = runInventoryLoop(
      {
        ...common,
        privateBridge: file.network.bridge,
        poolPrefix: file.hypervisor.poolPrefix,
        publicNetwork: file.network.public,
        everySeconds: settings.inventorySeconds,
        look: regionScanner(file, client, runtime),
      },
      stop,
    );
    const loadBalancers = runLoadBalancerLoop(
      { ...common, ask: loadBalancerAsker(file, client, runtime) },
      stop,
    );
    const consoles = runConsoleLoop(
      {
        ...common,
        consoles: new ProxmoxConsoles({ client, runtime }, runtime),
        region: file.region,
        controlPlaneUrl: file.controlPlane.url,
        token: file.controlPlane.token.reveal(),
      },
      stop,
    );
    log.info({ concurrency: settings.concurrency, kinds }, "taking jobs");
    const updating = updates?.run(stop) ?? Promise.resolve();
    await workUntilStopped(claims, log, stop, [health, inventory, loadBalancers, consoles, updating]);
    log.info("agent stopped");
  } finally {
    client.close();
    router?.end();
  }
}

/** Runs the jobs that wait, to their ends or until the signal, then releases those that still run. */
async function workOnce(claims: ClaimLoop, log: Logger, stop: AbortSignal): Promise<void> {
  await claims.runWaiting(stop).finally(() => claims.releaseJobs(GRACE_MILLISECONDS));
  log.info("no job is left; agent stopped");
}

/** Runs jobs until the signal, then releases those that run. Rejects when the claims or another loop fail. */
export async function workUntilStopped(
  claims: ClaimLoop,
  log: Logger,
  stop: AbortSignal,
  others: readonly Promise<void>[] = [],
): Promise<void> {
  const claiming = claims.run(stop);
  await untilStopped(stop, [claiming, ...others]);
  log.info({ jobs: claims.runningJobs }, "stopping: no new jobs are claimed, running ones are released");
  await claims.releaseJobs(GRACE_MILLISECONDS);
  await claiming;
  // An open claim has been answered in the meantime; its job is released, too.
  await claims.releaseJobs(0);
}

/** Resolves at the signal, or rejects when one of the loops breaks. */
async function untilStopped(stop: AbortSignal, loops: readonly Promise<void>[]): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  stop.addEventListener("abort", () => stopped.resolve(), { once: true });
  if (stop.aborted) stopped.resolve();
  await Promise.race([stopped.promise, Promise.all(loops).then(() => stopped.promise)]);
}
