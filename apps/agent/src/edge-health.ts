import type { Schemas } from "@kule/contract/schemas";
import type { Edge } from "@kule/programs/edge";
import { type AgentRuntime, withinTime } from "./runtime.ts";

const LOOK_MILLISECONDS = 15_000;
const MESSAGE_CHARACTERS = 1_000;

/**
 * The part of a health report about the region's edge: whether it answers, and which networks have a
 * namespace there.
 */
export async function edgeHealth(
  edge: Edge | null,
  runtime: AgentRuntime,
): Promise<Schemas["EdgeHealth"] | null> {
  if (edge === null) return null;
  try {
    return {
      reachable: true,
      networks: [...(await withinTime(runtime, LOOK_MILLISECONDS, null, (signal) => edge.networks(signal)))],
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { reachable: false, message: message.slice(0, MESSAGE_CHARACTERS) };
  }
}
