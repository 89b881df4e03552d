import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { Refusal } from "@kule/rules/decision";
import { inUse, serverNameTaken, vmNotImportable } from "@kule/rules/refusals";
import { takenOverDiskGb } from "@kule/rules/servers/disk";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict, fieldError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { queueJob } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { findGuest, heldForVm, releaseHeldAddress } from "../inventory/index.ts";
import { quotaOfPackage, quotaRefusalsUnderLock } from "../quotas/index.ts";
import { takeThisVmid } from "./allocations.ts";
import { blocked, changed, refuseConflicts } from "./answers.ts";
import { addFirstInterface } from "./first-interface.ts";
import type { ServerHooks } from "./hooks.ts";
import { checkPlace, type Placement } from "./placement.ts";
import { findNamesake } from "./store.ts";

type Request = ApiRequest<"importServer">;

const placements = new WeakMap<Request, Placement>();

/** What can be wrong with a create's body, and the number: it must be one that Kule allocates. */
export async function checkImportServer(
  request: Request,
  body: Partial<RequestBody<"importServer">>,
  hooks: readonly ServerHooks[],
): Promise<readonly FieldError[]> {
  const { errors, placement } = await checkPlace(request, body, hooks);
  if (body.vmid !== undefined && body.region !== undefined) {
    const range = await request.db
      .selectFrom("region")
      .select(["vmid_first", "vmid_last"])
      .where("slug", "=", body.region)
      .executeTakeFirst();
    if (range !== undefined && (body.vmid < range.vmid_first || body.vmid > range.vmid_last))
      return [
        ...errors,
        fieldError(
          "/vmid",
          "out_of_range",
          `must be one of the region's VM numbers, ${range.vmid_first} to ${range.vmid_last}: move the VM to one of them first`,
        ),
      ];
  }
  if (placement !== null) placements.set(request, placement);
  return errors;
}

/** Writes the server as `creating` for an existing VM, and the job that marks it as the server's. */
export async function importServer(
  request: Request,
  tx: Tx,
  hooks: readonly ServerHooks[],
): Promise<Outcome> {
  const { body, organisationId, caller } = request;
  const placement = placements.get(request);
  if (placement === undefined || placement.subnet === null) throw new Error("the request was not checked");
  const { region, image, plan, subnet } = placement;
  const guest = await findGuest(tx, body.region, body.vmid, organisationId);
  const diskGb = takenOverDiskGb(plan.diskGb, guest?.diskBytes ?? null);
  const refusals = [
    ...(await quotaRefusalsUnderLock(tx, organisationId, async () => ({
      ...quotaOfPackage(plan.slug),
      disk_gb: diskGb,
    }))),
    ...(await decide(request, tx, guest?.why ?? null)),
  ];
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  refuseConflicts(refusals);
  // After a restore of the database it becomes the server again that it was: its marker and its tags stay as they are.
  const serverId = guest?.lostServerId ?? newId("srv");
  await tx
    .insertInto("server")
    .values({
      id: serverId,
      organisation_id: organisationId,
      region: region.slug,
      name: body.name,
      status: "creating",
      image: image.slug,
      package: plan.slug,
      disk_gb: diskGb === plan.diskGb ? null : diskGb,
      labels: JSON.stringify(body.labels ?? {}),
      // A VM that is worth adopting is in use, and must not be deleted by mistake.
      protect_delete: true,
    })
    .execute()
    .catch((error: unknown) => {
      const constraint = violatedConstraint(error);
      if (constraint === "server_name") throw new Conflict(serverNameTaken(body.name, region.slug, null));
      // Row-level security hides a server of another organisation, whose id this VM was given.
      if (constraint === "server_pkey") throw new Conflict(notImportable(body, `is marked for ${serverId}`));
      throw error;
    });
  if (!(await takeThisVmid(tx, region.slug, body.vmid, serverId))) throw new Conflict(numberUsed(body));
  const held = guest?.lostServerId == null ? [] : await heldForVm(tx, region.slug, body.vmid);
  const own = held.find(
    ({ kind, subnetId, value }) =>
      kind === "address" && subnetId === subnet.id && value === (body.private_ip ?? value),
  );
  if (own !== undefined) await releaseHeldAddress(tx, organisationId, own);
  // Its MAC is provisional until the job has reported which one the VM has.
  await addFirstInterface(tx, {
    organisationId,
    region,
    serverId,
    subnetId: subnet.id,
    vmid: body.vmid,
    wanted: body.private_ip ?? own?.value,
  });
  const publicAddresses = held.filter(({ kind }) => kind === "public_address").map(({ value }) => value);
  const server = { id: serverId, organisation_id: organisationId, region: region.slug };
  if (publicAddresses.length > 0)
    for (const hook of hooks) await hook.takeOver?.(tx, server, publicAddresses);
  const job = await queueJob(tx, {
    kind: "ServerAdopt",
    organisationId,
    region: region.slug,
    resourceType: "server",
    resourceId: serverId,
    requestedBy: caller.actor,
    requestId: request.id,
  });
  return changed(request, tx, serverId, job);
}

async function decide({ body, organisationId }: Request, tx: Tx, why: string | null): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  const namesake = await findNamesake(tx, organisationId, body.region, body.name);
  if (namesake !== null) refusals.push(serverNameTaken(body.name, body.region, namesake));
  const { state } = await tx
    .selectFrom("region_vmid")
    .select(sql<string>`state`.as("state"))
    .where("region", "=", body.region)
    .where("vmid", "=", body.vmid)
    .executeTakeFirstOrThrow();
  if (state !== "free" && state !== "quarantined") refusals.push(numberUsed(body));
  if (why !== null) refusals.push(notImportable(body, why));
  return refusals;
}

const notImportable = (
  { vmid, region }: RequestBody<"importServer">,
  why: string,
): Refusal<"vm_not_importable"> =>
  vmNotImportable("vm_importable", `VM ${vmid} of region ${region} ${why}`, {
    fix: "Look at the VM in the region; the next look of its agent sees what you changed",
  });

const numberUsed = ({ vmid, region }: RequestBody<"importServer">): Refusal<"in_use"> =>
  inUse("vmid_free", `The VM number ${vmid} of region ${region} belongs to a server, or rests after one`, {
    resource: region,
    fix: "Give the VM another number of the region's range",
  });
