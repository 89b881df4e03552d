import type { Schemas } from "@kule/contract/schemas";
import { keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import type { AgentWatcher } from "./agent-watcher.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Logger } from "./log.ts";
import type { RegionHealth } from "./region-health.ts";
import { type AgentRuntime, pausedFully } from "./runtime.ts";

export type HealthLoopOptions = {
  readonly controlPlane: ControlPlane;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly agentVersion: string;
  readonly agentName: string;
  readonly publicKey: string;
  readonly everySeconds: number;
  /** Checks the region; never throws. */
  readonly look: () => Promise<RegionHealth>;
  readonly watcher?: AgentWatcher | undefined;
  /** Left out where the agent is no binary that could be another one. */
  readonly updates?: HealthUpdates | undefined;
};

export type HealthUpdates = {
  readonly architecture: Schemas["AgentArchitecture"];
  readonly canUpdate: boolean;
  readonly progress: Schemas["AgentUpdate"] | null;
  /** The version that the control plane wants. */
  wants(version: string | null): void;
};

/** Reports the region's health at once and then at its interval, until the signal. Logs what changes, not what stays. */
export async function runHealthLoop(options: HealthLoopOptions, stop: AbortSignal): Promise<void> {
  const { controlPlane, runtime, log, publicKey, everySeconds } = options;
  let lastRegion = "";
  let lastDelivery = "";
  let lastKeyUse = "";
  while (!stop.aborted) {
    const startedAt = runtime.monotonic();
    const health = await options.look();
    if (stop.aborted) return;
    const region = inWords(health);
    if (region !== lastRegion) {
      const healthy = region === HEALTHY;
      log[healthy ? "info" : "warn"]({ hypervisor: health.hypervisor }, `region health: ${region}`);
      lastRegion = region;
    }
    const answer = await controlPlane.health(bodyOf(options, health), stop).catch((error: unknown) => {
      if (stop.aborted) return null;
      throw error;
    });
    if (answer === null) return;
    if (answer.kind === "ok") options.updates?.wants(answer.value.update_to ?? null);
    const keyUse = answer.kind === "ok" ? (answer.value.agent_key ?? "") : lastKeyUse;
    if (keyUse !== lastKeyUse) {
      if (keyUse === "waits_for_approval")
        log.error(
          { alarm: true, key: keyFingerprint(publicKey) },
          "the region has another key: an operator has to approve this one, or the sealing-key file of the region's other agent has to be copied here. Until then jobs with a sealed password are not given to this agent",
        );
      else if (lastKeyUse !== "") log.info("secrets are sealed to this agent's key");
      lastKeyUse = keyUse;
    }
    const delivery = answer.kind === "ok" ? "delivered" : answer.message;
    options.watcher?.healthReported({
      region,
      undelivered: answer.kind === "ok" ? null : answer.message,
      keyUse: answer.kind === "ok" ? (answer.value.agent_key ?? null) : null,
    });
    if (delivery !== lastDelivery) {
      if (answer.kind !== "ok") log.warn({ reason: answer.message }, "the health report is not delivered");
      else if (lastDelivery !== "") log.info("health reports are delivered again");
      lastDelivery = delivery;
    }
    await pausedFully(runtime, everySeconds * 1000 - (runtime.monotonic() - startedAt), stop);
  }
}

/** One report, for an agent that ends soon. What the control plane says of it is not waited for again. */
export async function reportHealth(options: HealthLoopOptions, stop: AbortSignal): Promise<void> {
  const { controlPlane, log } = options;
  const health = await options.look();
  const region = inWords(health);
  log[region === HEALTHY ? "info" : "warn"]({ hypervisor: health.hypervisor }, `region health: ${region}`);
  const answer = await controlPlane.health(bodyOf(options, health), stop).catch((error: unknown) => {
    if (stop.aborted) return null;
    throw error;
  });
  if (answer !== null && answer.kind !== "ok")
    log.warn({ reason: answer.message }, "the health report is not delivered");
}

function bodyOf(options: HealthLoopOptions, health: RegionHealth): Schemas["HealthReport"] {
  const { agentVersion, agentName, publicKey, updates } = options;
  const update =
    updates === undefined
      ? {}
      : { architecture: updates.architecture, can_update: updates.canUpdate, update: updates.progress };
  return { agent_version: agentVersion, agent_name: agentName, public_key: publicKey, ...update, ...health };
}

const HEALTHY = "all well";

function inWords({ hypervisor, templates, edge }: RegionHealth): string {
  if (!hypervisor.reachable) return "the hypervisor cannot be reached";
  const troubles = [
    ...(hypervisor.nodes ?? []).filter((node) => !node.online).map((node) => `node ${node.name} is offline`),
    ...(edge?.reachable === false ? ["the edge cannot be reached"] : []),
    ...(templates ?? []).filter((each) => !each.ok).map((each) => `no template for ${each.image}`),
  ];
  return troubles.length === 0 ? HEALTHY : troubles.join("; ");
}
