import type { Schemas } from "@kule/contract/schemas";
import type { ScanPart } from "@kule/programs/inventory/scan-region";
import type { ControlPlane } from "./control-plane.ts";
import type { Logger } from "./log.ts";
import { type AgentRuntime, pausedFully } from "./runtime.ts";

export type InventoryLoopOptions = {
  readonly controlPlane: ControlPlane;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly agentVersion: string;
  readonly agentName: string;
  readonly privateBridge: string;
  readonly poolPrefix: string;
  readonly publicNetwork: { readonly bridge: string; readonly vlan: number | null } | null;
  readonly everySeconds: number;
  /** Scans the region; throws only for the signal. */
  readonly look: (pass: number, lookFor: readonly number[], signal: AbortSignal) => AsyncIterable<ScanPart>;
};

/** The first scan is soon, but not of all agents of an installation at the same moment. */
const FIRST_WITHIN_MILLISECONDS = 3_000;
/** Agents that began together drift apart by up to this share. */
const JITTER = 0.1;

/**
 * Scans the region repeatedly and reports the result, until the signal. Logs what changes, not what stays.
 */
export async function runInventoryLoop(options: InventoryLoopOptions, stop: AbortSignal): Promise<void> {
  const { runtime, log, everySeconds } = options;
  const loop = new InventoryLoop(options);
  await pausedFully(
    runtime,
    runtime.random() * Math.min(FIRST_WITHIN_MILLISECONDS, everySeconds * 1000),
    stop,
  );
  while (!stop.aborted) {
    const startedAt = runtime.monotonic();
    let nextSeconds = everySeconds;
    try {
      nextSeconds = await loop.once(stop);
    } catch (error) {
      if (stop.aborted) return;
      // Jobs and health must continue after any error.
      log.error({ err: error }, "a scan of the region was aborted");
    }
    const jittered = nextSeconds * 1000 * (1 - JITTER + 2 * JITTER * runtime.random());
    // Even in a region whose scan takes longer than the interval there is a pause between two scans.
    await pausedFully(runtime, Math.max(500, jittered - (runtime.monotonic() - startedAt)), stop);
  }
}

class InventoryLoop {
  readonly #options: InventoryLoopOptions;
  readonly #run: string;
  #lastTrouble = "";

  constructor(options: InventoryLoopOptions) {
    this.#options = options;
    this.#run = options.runtime.uuid();
  }

  /** One pass. Answers after how many seconds the next may begin. */
  async once(stop: AbortSignal): Promise<number> {
    const { everySeconds } = this.#options;
    const begun = await this.#send({}, stop);
    if (begun === null) return everySeconds;
    if (begun.pass === null) return begun.next_in_seconds;
    let batch = 0;
    for await (const piece of this.#options.look(begun.pass, begun.look_for, stop)) {
      const ack = await this.#send({ pass: begun.pass, batch, ...bodyOf(piece) }, stop);
      // Not delivered, or another scan has begun: this one can report nothing more.
      if (ack === null || !ack.recorded) return everySeconds;
      if ("end" in piece) this.#tell(piece.end);
      batch += 1;
    }
    return everySeconds;
  }

  async #send(more: object, stop: AbortSignal): Promise<Schemas["InventoryAck"] | null> {
    const { controlPlane, agentVersion, agentName, everySeconds, log } = this.#options;
    const { privateBridge, poolPrefix, publicNetwork } = this.#options;
    const answer = await controlPlane.inventory(
      {
        agent_version: agentVersion,
        agent_name: agentName,
        agent_run: this.#run,
        every_seconds: everySeconds,
        private_bridge: privateBridge,
        pool_prefix: poolPrefix,
        ...(publicNetwork === null ? {} : { public_network: publicNetwork }),
        ...more,
      },
      stop,
    );
    if (answer.kind === "ok") return answer.value;
    log.debug({ reason: answer.message }, "the scan of the region is not delivered");
    return null;
  }

  #tell({ complete, trouble }: Schemas["InventoryEnd"]): void {
    const said = complete ? "" : (trouble ?? "unknown");
    if (said !== this.#lastTrouble) {
      if (said !== "") this.#options.log.warn({ trouble: said }, "the region cannot be scanned completely");
      else this.#options.log.info("the region can be scanned completely again");
    }
    this.#lastTrouble = said;
  }
}

function bodyOf(piece: ScanPart): object {
  if ("vms" in piece) return { vms: piece.vms };
  if ("absent" in piece) return { absent: piece.absent };
  return "hidden" in piece ? { hidden: piece.hidden } : { end: piece.end };
}
