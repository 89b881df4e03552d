// NetworkApply: applies the wanted network to the edge, or deletes it there. Each of the edge's steps is one
// of the job's, and between any two of its commands the run may end: the network is then in its old state, in
// its new one, or closed, and the next run continues from what it observes.

import type { PayloadOf } from "@kule/contract/schemas";
import { type EdgeSight, type EdgeStep, Superseded } from "@kule/edge/plan";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import type { Edge } from "../edge.ts";
import { RetryLater } from "../errors.ts";
import type { Job, Program, World } from "../program.ts";
import { desiredNetwork } from "./desired-network.ts";

type SeenEdge =
  | { readonly wanted: "present"; readonly sight: EdgeSight; readonly steps: readonly EdgeStep[] }
  | { readonly wanted: "gone"; readonly isThere: boolean };

type NetworkStep =
  | { readonly [Name in EdgeStep["do"]]: EdgeStepOf<Name> }[EdgeStep["do"]]
  | { readonly do: "remove" };
type EdgeStepOf<Name extends EdgeStep["do"]> = {
  readonly do: Name;
  readonly step: EdgeStep;
  readonly sight: EdgeSight;
};

type NetworkJob = Job<PayloadOf<"NetworkApply">>;

export const applyNetwork: Program<"NetworkApply", SeenEdge, NetworkStep> = {
  kind: "NetworkApply",

  async observe({ payload }, world, { signal }) {
    const edge = edgeOf(world);
    if (payload.state === "gone")
      return { wanted: "gone", isThere: (await edge.networks(signal)).includes(payload.network.id) };
    const sight = await edge.observe(desiredNetwork(payload), signal);
    return { wanted: "present", sight, steps: planned(edge, sight) };
  },

  plan(_, seen) {
    if (seen.wanted === "gone") return seen.isThere ? [{ do: "remove" }] : [];
    const { sight } = seen;
    return seen.steps.map((step) => ({ do: step.do, step, sight }) as NetworkStep);
  },

  apply: {
    "make-namespace": applyOne,
    "replace-rules": applyOne,
    "make-parent": applyOne,
    "raise-parent": applyOne,
    "remove-link": applyOne,
    set: applyOne,
    "add-link": applyOne,
    plug: applyOne,
    "bring-up": applyOne,
    route: applyOne,
    unroute: applyOne,
    remove: (_, { payload }, world, effect) => edgeOf(world).remove(payload.network.id, commandsOf(effect)),
  },

  observed: ({ payload }) => ({ power_state: "unknown", network_generation: payload.generation }),
};

function applyOne(
  { step, sight }: EdgeStepOf<EdgeStep["do"]>,
  _: NetworkJob,
  world: World,
  effect: EffectContext,
): Promise<void> {
  return edgeOf(world).apply(step, sight, commandsOf(effect));
}

/** Every command is an effect of its own: the lease is checked before it, and the run may end there. */
function commandsOf(effect: EffectContext) {
  return {
    ...(effect.signal === undefined ? {} : { signal: effect.signal }),
    before: () => effect.beforeCall(),
    after: () => effect.answered(),
  };
}

/**
 * A newer state is never reverted. The job for this one is outdated, and gets the newest state with its next
 * attempt.
 */
function planned(edge: Edge, sight: EdgeSight): readonly EdgeStep[] {
  try {
    return edge.plan(sight);
  } catch (error) {
    if (!(error instanceof Superseded)) throw error;
    throw new RetryLater(
      {
        code: "network_superseded",
        message: "A newer state of the network is in force.",
        internal: error.message,
      },
      { cause: error },
    );
  }
}

function edgeOf({ edge }: World): Edge {
  if (edge !== null) return edge;
  throw new RetryLater({
    code: "edge_missing",
    message: "The region is not set up for this; it is tried again.",
    internal: "the region file of this agent has no edge",
  });
}
