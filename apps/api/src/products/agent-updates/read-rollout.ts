import type { Schemas } from "@kule/contract/schemas";
import type { Database, Tx } from "../../platform/database.ts";
import { findRollout, regionsOfRollout } from "./rollout-store.ts";
import { viewRolloutWithRegions } from "./view.ts";

/** A rollout as it is answered. It is never deleted. */
export async function readRollout(db: Database | Tx, id: string): Promise<Schemas["AgentRollout"]> {
  const [row, regions] = await Promise.all([findRollout(db, id), regionsOfRollout(db, id)]);
  if (row === null) throw new Error(`rollout ${id} could not be found`);
  return viewRolloutWithRegions(row, regions);
}
