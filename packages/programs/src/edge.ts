import type { EdgeNetwork } from "@kule/edge/edge-network";
import type { EdgeSight, EdgeStep } from "@kule/edge/plan";
import type { CommandHooks } from "@kule/edge/runner";

/** The machine that routes a region's private networks, as far as programs use it. */
export type Edge = {
  /** Reads only. */
  observe(want: EdgeNetwork, signal?: AbortSignal): Promise<EdgeSight>;
  /** Throws Superseded when a newer state is live. */
  plan(sight: EdgeSight): readonly EdgeStep[];
  apply(step: EdgeStep, sight: EdgeSight, hooks?: CommandHooks): Promise<void>;
  networks(signal?: AbortSignal): Promise<readonly string[]>;
  remove(networkId: string, hooks?: CommandHooks): Promise<void>;
};
