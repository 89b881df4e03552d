import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { findImage } from "@kule/rules/catalog/images";
import { findPackage, packages, type ServerPackage } from "@kule/rules/catalog/packages";
import type { Refusal } from "@kule/rules/decision";
import { takenByResize } from "@kule/rules/quotas/quotas";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import { decideResize, diskAfterResize, noCapacityToGrow, resizeMismatch } from "@kule/rules/servers/resize";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { releaseGrowth, reserveCapacityToGrow } from "../inventory/index.ts";
import { quotaRefusals } from "../quotas/index.ts";
import { answered, type Change, refuseConflicts } from "./answers.ts";
import type { ChangeOfServer } from "./change-of-server.ts";
import type { ResizeParameters } from "./payload.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { lockedState } from "./server-state.ts";
import { lockServer, type ServerDetails, type ServerRow } from "./store.ts";
import { diskOf } from "./view.ts";

export function checkResizeServer(
  _request: ApiRequest<"resizeServer">,
  body: Partial<RequestBody<"resizeServer">>,
  found: ServerDetails,
): FieldError[] {
  return body.package === undefined ? [] : mismatches(body.package, found);
}

/**
 * Reasons in the server itself against the package. A job that ends concurrently may change its image and its
 * disk.
 */
function mismatches(slug: string, found: Pick<ServerRow, "image" | "package" | "disk_gb">): FieldError[] {
  const plan = findPackage(slug);
  if (plan === undefined)
    return [
      fieldError("/package", "not_one_of", `must be one of: ${packages.map((each) => each.slug).join(", ")}`),
    ];
  // An image that is no longer offered sets no limits any more.
  const image = findImage(found.image);
  const mismatch = image === undefined ? null : resizeMismatch(plan, image, diskOf(found));
  return mismatch === null ? [] : [fieldError("/package", "os_plan_mismatch", mismatch)];
}

export async function resizeServer(
  request: ApiRequest<"resizeServer">,
  tx: Tx,
  { id }: ServerDetails,
): Promise<Outcome> {
  return answered(request, tx, id, await changeSize(request, tx, id, request.body));
}

/**
 * Writes where the server is going, and the job. Its package changes when the region has read the new one back; until
 * then quotas count the larger of the two.
 */
export async function changeSize(
  request: ChangeOfServer,
  tx: Tx,
  serverId: string,
  body: RequestBody<"resizeServer">,
): Promise<Change> {
  const server = await lockServer(tx, request.organisationId, serverId);
  if (server === null || server.status === "deleted") throw new NotFound();
  request.checkGeneration(server);
  const changedMeanwhile = mismatches(body.package, server);
  if (changedMeanwhile.length > 0) throw new Invalid(changedMeanwhile);
  const to = planOf(body.package);
  const growDisk = body.grow_disk ?? true;
  const { state } = await lockedState(tx, server, request.owner);
  const refusals: Refusal[] = [
    ...decideServerAction("resize", state),
    ...decideResize({
      id: server.id,
      isRunning: server.status === "running",
      from: planOf(server.package),
      diskGb: diskOf(server),
      to,
      growDisk,
      allowRestart: body.allow_restart ?? false,
    }),
  ];
  const diskGb = diskAfterResize({ diskGb: diskOf(server), to, growDisk });
  if (refusals.length === 0) refusals.push(...(await takeGrowth(tx, server, to, diskGb)));
  if (request.dryRun && refusals.length > 0) return { refusals };
  refuseConflicts(refusals, server.status);

  const job = await queueServerJob(request, tx, server, {
    kind: "ServerResize",
    status: "resizing",
    // What a product runs on is to run, also when a resize before has left it off.
    parameters: {
      package: to.slug,
      disk_gb: diskGb,
      run: server.status === "running" || request.owner !== undefined,
    },
    set: additionalQuota(to.slug, diskGb),
  });
  return { job };
}

/**
 * Allocates what the server grows by; returns the organisation's quotas and the node's capacity that do not
 * suffice.
 */
export async function takeGrowth(
  tx: Tx,
  server: ServerRow,
  to: ServerPackage,
  diskGb: number,
): Promise<Refusal[]> {
  const has = { ...planOf(server.package), diskGb: diskOf(server) };
  const comes = { ...to, diskGb };
  const refusals = await quotaRefusals(tx, server.organisation_id, takenByResize(has, comes));
  if (refusals.length > 0) return refusals;
  return (await reserveCapacityToGrow(tx, server, has, comes)) ? [] : [noCapacityToGrow(server.id, to.slug)];
}

/**
 * A resize has failed: its growth is released, except for what its disk has grown by all the same. Its quotas
 * are released by the server's row.
 *
 * @param left the server as the resize has left it
 */
export async function returnGrowth(tx: Tx, server: ServerRow, job: JobRow, left: ServerRow): Promise<void> {
  const { package: slug, disk_gb } = job.parameters as ResizeParameters;
  const has = { ...planOf(server.package), diskGb: diskOf(server) };
  const keeps = { ...has, diskGb: diskOf(left) };
  await releaseGrowth(tx, server, has, { ...planOf(slug), diskGb: disk_gb }, keeps);
}

/** The additional quota of a resize until it ends. */
export function additionalQuota(
  slug: string,
  diskGb: number,
): Pick<ServerRow, "resize_package" | "resize_disk_gb"> {
  return { resize_package: slug, resize_disk_gb: diskGb };
}

export function planOf(slug: string): ServerPackage {
  const plan = findPackage(slug);
  if (plan === undefined) throw new Error(`no package ${slug}`);
  return plan;
}
