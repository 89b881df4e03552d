import type { Command } from "../command.ts";
import { addPool } from "./add-pool.ts";
import { addRegion } from "./add-region.ts";
import { createOrganisation } from "./create-organisation.ts";
import { exportOrganisation } from "./export-organisation.ts";
import { acceptIncompleteScan, endRestore } from "./go-on-after-restore.ts";
import { listAgents } from "./list-agents.ts";
import { listHeldVms } from "./list-held-vms.ts";
import { listStuckJobs } from "./list-stuck-jobs.ts";
import { rollOutAgents } from "./roll-out-agents.ts";
import { runInvariants } from "./run-invariants.ts";
import { setQuotas } from "./set-quotas.ts";
import { showRestore } from "./show-restore.ts";

export const commands: readonly Command[] = [
  createOrganisation,
  exportOrganisation,
  addRegion,
  addPool,
  setQuotas,
  runInvariants,
  listStuckJobs,
  listAgents,
  rollOutAgents,
  showRestore,
  listHeldVms,
  acceptIncompleteScan,
  endRestore,
];
