import { decideReplacement } from "@kule/rules/load-balancers/machine-health";
import { nextToResize } from "@kule/rules/load-balancers/resize";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { Conflict, Refusal } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import { actAs } from "../../platform/mutation.ts";
import { waitsForRestoreToEnd } from "../../platform/restored-regions.ts";
import type { Settings } from "../../platform/settings.ts";
import { inTransaction } from "../../platform/transaction.ts";
import type { ServerHooks } from "../servers/index.ts";
import { applyAgain, bySystem, requestApply } from "./apply.ts";
import { destroyServers } from "./delete-load-balancer.ts";
import { endIfDone } from "./end.ts";
import { isAddressFree, type MachineWork, makeMachine, replaceMachine, resizeNext } from "./machines.ts";
import {
  type KeptLoadBalancer,
  type LoadBalancerDetails,
  loadBalancersToKeep,
  lockLoadBalancer,
  writeLoadBalancer,
} from "./store.ts";
import { noteReplacement } from "./system-audit.ts";
import { resizedMachines, roundsOf, sightsOf } from "./view.ts";

export type Kept = {
  readonly replaced: number;
  readonly made: number;
  readonly resized: number;
  readonly applied: number;
  /** That answer a CA with something else now. */
  readonly answering: number;
  readonly ended: number;
};
type What = keyof Kept;

type Keeping = {
  readonly db: Database;
  readonly settings: Settings;
  readonly log: Logger;
  readonly hooks: readonly ServerHooks[];
  /** How many are given another thumbprint. */
  readonly mostAnswering?: number;
};

const atOnce = 200;
/** With an account at another CA all get another thumbprint, each by a job of its own: one pass begins so many. */
const mostAnsweringAtOnce = 200;
/** What has failed for good is not tried at every pass. */
const againAfterSeconds = 600;

/**
 * Replaces lost machines, makes those that are missing, resizes one after the other, brings the configuration to machines that
 * answer again, follows the account at the CA, and goes on with deletions. Only what has something to do is locked, in a transaction of its own; one for which a
 * server cannot be made now, such as for want of room, is tried again by the next pass. One that fails for a reason that nobody
 * expects keeps no other from its turn.
 *
 * @throws the first such error, at the end of the pass
 */
export async function keepLoadBalancers({
  db,
  settings,
  log,
  hooks,
  mostAnswering = mostAnsweringAtOnce,
}: Keeping): Promise<Kept> {
  const kept = { replaced: 0, made: 0, resized: 0, applied: 0, answering: 0, ended: 0 };
  const unexpected: unknown[] = [];
  let after = "";
  for (;;) {
    const page = await systemQuery(db, "the worker looks after the load balancers of all organisations")
      .selectFrom("load_balancer")
      .select(["id", "organisation_id"])
      .where("id", ">", after)
      // After a restore its machines may be others than the records say: nothing is replaced or removed by itself.
      .where(
        sql<boolean>`not exists (select from region
          where region.slug = load_balancer.region and ${waitsForRestoreToEnd})`,
      )
      .orderBy("id")
      .limit(atOnce)
      .execute();
    for (const row of await seenOf(db, page)) {
      if (!hasWork(row) && (!isAnswerStale(row) || kept.answering >= mostAnswering)) continue;
      const { id, organisation_id } = row;
      try {
        const what = await inTransaction(db, async (tx) => {
          actAs(tx, organisation_id);
          return keepOne(tx, organisation_id, id, { settings, hooks });
        });
        if (what !== null) kept[what] += 1;
      } catch (error) {
        if (error instanceof Refusal)
          log.warn({ load_balancer: id, err: error }, "a load balancer's machine cannot be made now");
        else {
          log.error({ load_balancer: id, err: error }, "a load balancer could not be looked after");
          unexpected.push(error);
        }
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < atOnce) break;
    after = last.id;
  }
  if (unexpected.length > 0) throw unexpected[0];
  return kept;
}

async function keepOne(
  tx: Tx,
  organisationId: string,
  id: string,
  { settings, hooks }: Pick<Keeping, "settings" | "hooks">,
): Promise<What | null> {
  if ((await lockLoadBalancer(tx, organisationId, id)) === null) return null;
  const [row] = await loadBalancersToKeep(tx, organisationId, [id]);
  if (row === undefined) return null;
  if (row.is_deleting) {
    await destroyServers(tx, row, { by: bySystem("load balancer deletion"), settings }, againAfterSeconds);
    return (await endIfDone(tx, row, { settings, job: null })) ? "ended" : null;
  }
  const work = { by: bySystem("load balancer machines"), settings, hooks };
  if (await makeMissing(tx, row, work)) return "made";
  const slot = slotToReplace(row);
  if (slot !== null) return (await replace(tx, row, slot, work)) ? "replaced" : null;
  if (await goOnResizing(tx, row, work)) return "resized";
  if (isAnswerStale(row)) {
    await requestApply(tx, row, bySystem("account at the CA"));
    return "answering";
  }
  return (await bringToThoseBehind(tx, row)) ? "applied" : null;
}

/** As they are now, without a lock. */
async function seenOf(
  db: Database,
  page: readonly { readonly id: string; readonly organisation_id: string }[],
): Promise<KeptLoadBalancer[]> {
  const seen: KeptLoadBalancer[] = [];
  for (const [organisationId, rows] of Map.groupBy(page, ({ organisation_id }) => organisation_id)) {
    const ids = rows.map(({ id }) => id);
    seen.push(...(await loadBalancersToKeep(db, organisationId, ids)));
  }
  return seen;
}

/** Whether anything of what `keepOne` does could be due, apart from another answer to the CA. */
const hasWork = (row: KeptLoadBalancer): boolean =>
  row.is_deleting ||
  row.machines.some(({ server_id }) => server_id === null) ||
  slotToReplace(row) !== null ||
  isToResize(row) ||
  isBehind(row);

/** One that is being restarted does not answer for a while, and is not lost. */
const slotToReplace = (row: LoadBalancerDetails): 1 | 2 | null =>
  row.machines.some(({ server_status }) => server_status === "resizing")
    ? null
    : decideReplacement(sightsOf(row), row.ha, roundsOf(row));

const isToResize = (row: LoadBalancerDetails): boolean =>
  row.resize_failure !== "resize_failed" && nextToResize(resizedMachines(row)) !== null;

const isAnswerStale = (row: KeptLoadBalancer): boolean =>
  !row.is_deleting && row.acme_thumbprint !== row.wanted_thumbprint;

/** A slot without a server: the former one is gone, or has let go of the address that the next one needs. */
async function makeMissing(tx: Tx, row: LoadBalancerDetails, work: MachineWork): Promise<boolean> {
  const missing = row.machines.find(({ server_id }) => server_id === null);
  if (missing === undefined || !(await isAddressFree(tx, row))) return false;
  await makeMachine(tx, row, missing.slot, work);
  return true;
}

async function replace(tx: Tx, row: LoadBalancerDetails, slot: 1 | 2, work: MachineWork): Promise<boolean> {
  const machine = row.machines.find((each) => each.slot === slot);
  if (machine === undefined || machine.server_id === null) return false;
  const { server_id } = machine;
  const { isReplaced } = await replaceMachine(tx, row, { slot, server_id }, work);
  if (isReplaced) await noteReplacement(tx, row, { slot, server_id, by: work.by });
  return isReplaced;
}

/**
 * The next machine, when those before it serve again. Where it cannot be resized now its owner is told, and the next pass tries
 * again: preconditions are checked before anything is written.
 */
async function goOnResizing(tx: Tx, row: LoadBalancerDetails, work: MachineWork): Promise<boolean> {
  if (!isToResize(row)) return false;
  try {
    if ((await resizeNext(tx, row, work)) === null) return false;
    if (row.resize_failure !== null) await writeLoadBalancer(tx, row, { resize_failure: null });
    return true;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    if (row.resize_failure === null) await writeLoadBalancer(tx, row, { resize_failure: "resize_waiting" });
    return false;
  }
}

/** The last job has passed over a silent machine, which answers again. */
function isBehind(row: LoadBalancerDetails): boolean {
  if (row.failure !== null || row.job_id !== null) return false;
  return row.machines.some(
    ({ is_created, observed_generation, answered_at_ms, asked_at_ms }) =>
      is_created &&
      observed_generation < row.wanted_generation &&
      answered_at_ms !== null &&
      asked_at_ms !== null &&
      // The last time that it was asked.
      answered_at_ms >= asked_at_ms,
  );
}

async function bringToThoseBehind(tx: Tx, row: LoadBalancerDetails): Promise<boolean> {
  return isBehind(row) && (await applyAgain(tx, row, bySystem("a machine answers again"))) !== null;
}
