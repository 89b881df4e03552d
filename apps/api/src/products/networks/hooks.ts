import type { PayloadOf } from "@kule/contract/schemas";
import type { Tx } from "../../platform/database.ts";
import type { Conflict } from "../../platform/errors.ts";
import type { JobEnd } from "../../platform/job-handler.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";

export type HookedNetwork = { readonly id: string; readonly organisation_id: string };

/**
 * Hooks of other products for networks, which do not import these products. They are listed in
 * `products/network-hooks.ts`, and called in that order.
 */
export type NetworkHooks = {
  /** Locks what goes before the network's row when a job of it ends. */
  lockBefore?(tx: Tx, network: HookedNetwork): Promise<void>;
  /**
   * The network's internet access as the edge should have it; null without one. At most one product has it.
   */
  gateway?(tx: Tx, organisationId: string, networkId: string): Promise<PayloadOf<"NetworkApply">["gateway"]>;
  /** The edge has the network as it was wanted at the generation `applied`. The network's row is locked. */
  applied?(tx: Tx, network: HookedNetwork, applied: number, job: JobRow, settings: Settings): Promise<void>;
  /** The job has failed, and no job that waits brings what it has not brought. */
  failed?(tx: Tx, network: HookedNetwork, job: JobRow, end: JobEnd): Promise<void>;
  /** The job that has failed waits again. */
  retried?(tx: Tx, network: HookedNetwork): Promise<void>;
  /** Why the subnet or the network cannot go; null when the product does not use it. */
  usedBy?(tx: Tx, organisationId: string, what: UsedPlace): Promise<Conflict | null>;
};

export type UsedPlace = { readonly subnet_id: string } | { readonly network_id: string };

/** The first reason why the network or subnet cannot be deleted. */
export async function findUse(
  hooks: readonly NetworkHooks[],
  tx: Tx,
  organisationId: string,
  what: UsedPlace,
): Promise<Conflict | null> {
  for (const { usedBy } of hooks) {
    const use = (await usedBy?.(tx, organisationId, what)) ?? null;
    if (use !== null) return use;
  }
  return null;
}
