import type { Schemas } from "@kule/contract/schemas";
import type { LookPiece } from "@kule/programs/inventory/look-at-region";
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
  /** Looks at the region; throws only for the signal. */
  readonly look: (pass: number, lookFor: readonly number[], signal: AbortSignal) => AsyncIterable<LookPiece>;
};

/** The first look is soon, but not of all agents of an installation at the same moment. */
const FIRST_WITHIN_MILLISECONDS = 3_000;
/** Agents that began together drift apart by up to this share. */
const JITTER = 0.1;

/** Looks at the region again and again and tells what it saw, until the signal. Logs what changes, not what stays. */
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
      // Whatever it is, jobs and health must go on.
      log.error({ err: error }, "a look at the region broke off");
    }
    const jittered = nextSeconds * 1000 * (1 - JITTER + 2 * JITTER * runtime.random());
    // Even a region that takes longer to look at than the pace leaves some rest between two looks.
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
      // Not delivered, or another look has begun: this one can say nothing more.
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
    log.debug({ reason: answer.message }, "what was seen in the region is not delivered");
    return null;
  }

  #tell({ complete, trouble }: Schemas["InventoryEnd"]): void {
    const said = complete ? "" : (trouble ?? "unknown");
    if (said !== this.#lastTrouble) {
      if (said !== "") this.#options.log.warn({ trouble: said }, "the region cannot be seen as a whole");
      else this.#options.log.info("the region is seen as a whole again");
    }
    this.#lastTrouble = said;
  }
}

function bodyOf(piece: LookPiece): object {
  if ("vms" in piece) return { vms: piece.vms };
  if ("absent" in piece) return { absent: piece.absent };
  return "hidden" in piece ? { hidden: piece.hidden } : { end: piece.end };
}
