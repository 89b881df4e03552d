import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { findPackage } from "@kule/rules/catalog/packages";
import { connectionsOf } from "@kule/rules/load-balancers/machine-size";
import { decideResize } from "@kule/rules/load-balancers/resize";
import { addQuota, type QuotaAmounts, takenByResize } from "@kule/rules/quotas/quotas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { askedBy } from "../networks/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { answeredOrTried, lockForChange, type Written } from "./answers.ts";
import { requestApply } from "./apply.ts";
import { packageErrors } from "./fields.ts";
import { resizeNext } from "./machines.ts";
import { changeInForce, type LoadBalancerDetails, writeLoadBalancer, writtenLoadBalancer } from "./store.ts";
import { isIdle, isResized } from "./view.ts";

type Request = ApiRequest<"resizeLoadBalancer">;

export const checkResizeLoadBalancer = (
  _request: Request,
  body: Partial<RequestBody<"resizeLoadBalancer">>,
): FieldError[] => packageErrors(body.package);

/**
 * Writes the package that its machines are to have, and begins with the first of them. Its end (of-servers.ts) and the worker
 * (keep-load-balancers.ts) go on with the next one.
 */
export function resizeLoadBalancer(request: Request, tx: Tx, found: LoadBalancerDetails): Promise<Outcome> {
  return answeredOrTried(request, tx, () => write(request, tx, found));
}

async function write(request: Request, tx: Tx, found: LoadBalancerDetails): Promise<Written> {
  const row = await lockForChange(request, tx, found);
  const to = request.body.package;
  const refusal = decideResize({ id: row.id, package: row.package, to, isResized: isResized(row) });
  if (refusal !== null) throw new Conflict(refusal);
  // For all of them: the second's turn comes later, and it should not be left in the old size for want of quota.
  await takeQuota(tx, row.organisation_id, growthOf(row, to));
  const changes = { package: to, resize_failure: null, resize_job_id: null };
  if (row.package === to) await writeLoadBalancer(tx, row, changes);
  else await changeInForce(tx, row, changes);
  const by = askedBy(request);
  // Fewer connections before there is less memory for them; more of them when there is more.
  const applied = isSmaller(row.package, to) ? await requestApply(tx, row, by) : null;
  const now = await writtenLoadBalancer(tx, row.organisation_id, row.id);
  const resized = await resizeNext(tx, now, { by, settings: request.deps.settings });
  return { row, job: resized ?? applied, kind: "ServerResize" };
}

const sizeOf = (slug: string | null) => {
  const { vcpu, memoryMb } = findPackage(slug ?? "") ?? { vcpu: 0, memoryMb: 0 };
  // The disks stay.
  return { vcpu, memoryMb, diskGb: 0 };
};

/** What its servers take more; one that is being resized already is counted in its new size. */
function growthOf({ machines }: LoadBalancerDetails, to: string): QuotaAmounts {
  return machines
    .filter(isIdle)
    .map((machine) => takenByResize(sizeOf(machine.package), sizeOf(to)))
    .reduce<QuotaAmounts>((sum, each) => addQuota(sum, each), {});
}

const isSmaller = (from: string, to: string): boolean =>
  connectionsOf(sizeOf(to).memoryMb) < connectionsOf(sizeOf(from).memoryMb);
