import type { RequestBody, Schemas } from "@kule/contract/schemas";
import type { Image } from "@kule/rules/catalog/images";
import type { Refusal } from "@kule/rules/decision";
import { managedServerQuota } from "@kule/rules/quotas/quotas";
import { serverNameTaken, vmidExhausted } from "@kule/rules/refusals";
import { decideCreate } from "@kule/rules/servers/preconditions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type JobRow, queueJob } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { ownerColumns } from "../../platform/server-owner.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { placeServer } from "../inventory/index.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { type DefaultNetwork, ensureDefaultNetwork, hasDefaultNetwork } from "../networks/index.ts";
import { quotaOfPackage, quotaRefusalsUnderLock } from "../quotas/index.ts";
import { takeVmid } from "./allocations.ts";
import { blocked, linksTo, refuseConflicts, would, writtenServer } from "./answers.ts";
import type { ChangeOfServer } from "./change-of-server.ts";
import { addFirstInterface } from "./first-interface.ts";
import type { HookedServer, ServerHooks } from "./hooks.ts";
import { type Placement, placementOf } from "./placement.ts";
import { keepNewPassword } from "./server-secret.ts";
import { findNamesake } from "./store.ts";
import { findSubnetFacts, readCreateFacts } from "./surroundings.ts";

type Request = ApiRequest<"createServer">;

/** Who asks for a new server, and with what body. */
export type NewServer = Pick<ChangeOfServer, "organisationId" | "id" | "caller" | "dryRun" | "owner"> & {
  readonly body: RequestBody<"createServer">;
};

type Written = {
  readonly id: string;
  readonly job: JobRow;
  readonly region: string;
  /** To show once; null when there is none. */
  readonly password: string | null;
  readonly createdAlong: Schemas["CreatedAlong"] | null;
};

export async function createServer(
  request: Request,
  tx: Tx,
  hooks: readonly ServerHooks[],
): Promise<Outcome> {
  try {
    const created = await addServer(request, tx, placementOf(request), hooks);
    return "refusals" in created ? blocked(created.refusals) : await answer(request, tx, created);
  } catch (error) {
    // Concurrent requests were first, between our check and our write. A dry run lists that like any other
    // reason.
    if (request.dryRun && error instanceof Conflict) return blocked([error.precondition]);
    throw error;
  }
}

/**
 * Allocates the name, the VM number, the MAC and the address, writes the server as `creating` and the job
 * that creates it: all in this transaction.
 */
export async function addServer(
  request: NewServer,
  tx: Tx,
  placement: Placement,
  hooks: readonly ServerHooks[],
): Promise<Written | { readonly refusals: readonly Refusal[] }> {
  const { refusals, node } = await decide(request, tx, placement);
  if (request.dryRun && refusals.length > 0) return { refusals };
  refuseConflicts(refusals);
  return write(request, tx, { ...placement, node }, hooks);
}

async function decide(request: NewServer, tx: Tx, { region, image, plan, subnet }: Placement) {
  const { body, organisationId } = request;
  const [facts, placed, nameTakenBy, subnetFacts] = await Promise.all([
    readCreateFacts(tx, organisationId, region.slug),
    placeServer(tx, region.slug, image.slug, plan),
    findNamesake(tx, organisationId, region.slug, body.name),
    subnet === null ? null : findSubnetFacts(tx, organisationId, subnet, body.private_ip, request.dryRun),
  ]);
  // First of all that is locked: creates of an organisation with a limit go one after the other from here on.
  const fullQuotas = facts.isLimited
    ? await quotaRefusalsUnderLock(tx, organisationId, async () => ({
        ...(request.owner === undefined
          ? quotaOfPackage(plan.slug)
          : managedServerQuota(quotaOfPackage(plan.slug))),
        ...(subnet === null && !(await hasDefaultNetwork(tx, organisationId, region.slug))
          ? { networks: 1, subnets: 1 }
          : {}),
        ...(body.public_ip === "auto" ? { public_ips: 1 } : {}),
      }))
    : [];
  const refusals = decideCreate({
    region: {
      slug: region.slug,
      maintenance: facts.maintenance,
      waitsForScan: facts.waitsForScan,
      hasFreeVmid: facts.hasFreeVmid,
      hasAgentKey: facts.agent_public_key !== null,
    },
    needsSealedPassword: getsPassword(request, image) && image.osFamily === "windows",
    name: body.name,
    nameTakenBy,
    subnet: subnetFacts,
    hasFreeVlan: facts.hasFreeVlan,
    lacksRoomFor: placed.fits ? null : plan.slug,
    fullQuotas,
  });
  return { refusals, node: placed.fits ? placed.node : null };
}

type PlacedServer = Placement & { readonly node: string | null };

async function write(
  request: NewServer,
  tx: Tx,
  placement: PlacedServer,
  hooks: readonly ServerHooks[],
): Promise<Written> {
  const { body, caller, organisationId } = request;
  const { region } = placement;
  const serverId = newId("srv");
  const hooked = { id: serverId, organisation_id: organisationId, region: region.slug };
  // The name first: of many requests for it, all but one wait here, before they hold anything that others
  // need.
  insertServer(request, tx, serverId, placement);
  // Before the subnet: a change of a firewall locks the firewall first and a subnet that it names after it.
  for (const hook of hooks) await hook.lockForCreate?.(tx, hooked, body);
  const created =
    placement.subnet === null
      ? await ensureDefaultNetwork(tx, organisationId, region.slug, {
          requestedBy: caller.actor,
          requestId: request.id,
        })
      : null;
  const vmid = await takeVmid(tx, region.slug, serverId);
  if (vmid === null) throw new Conflict(vmidExhausted(region.slug));
  const password = writePassword(request, tx, serverId, placement);
  // Sent together, in this order.
  const [, , job] = await Promise.all([
    insertInterface(request, tx, serverId, placement, created, vmid),
    giveAlong(request, tx, hooked, hooks),
    queueJob(tx, {
      kind: "ServerCreate",
      organisationId,
      region: region.slug,
      resourceType: "server",
      resourceId: serverId,
      requestedBy: caller.actor,
      requestId: request.id,
    }),
  ]);
  return {
    id: serverId,
    job,
    region: region.slug,
    password,
    createdAlong: created?.createdAlong ?? null,
  };
}

async function answer(
  request: Request,
  tx: Tx,
  { id, job, region, password, createdAlong }: Written,
): Promise<Outcome> {
  const [server, jobView] = await Promise.all([
    writtenServer(tx, request.organisationId, id),
    viewWrittenJob(tx, job, request.caller),
  ]);
  if (request.dryRun) return would(server, "ServerCreate", createdAlong);
  const answer: Schemas["ServerCreated"] = {
    server,
    job: jobView,
    console_password: password,
    ...(createdAlong === null ? {} : { created: createdAlong }),
  };
  return {
    reply: reply(202, answer, { Location: `/api/v1/servers/${id}`, ...linksTo(job) }),
    resource: id,
    details: { job: job.id, vmid_region: region },
    secretFields: ["console_password"],
  };
}

function insertServer(
  { body, organisationId, owner }: NewServer,
  tx: Tx,
  id: string,
  { region, image, plan, sshPublicKeys, node }: PlacedServer,
): void {
  const row = tx.insertInto("server").values({
    id,
    organisation_id: organisationId,
    region: region.slug,
    name: body.name,
    status: "creating",
    image: image.slug,
    package: plan.slug,
    ssh_key_ids: body.ssh_key_ids ?? [],
    ssh_public_keys: [...sshPublicKeys],
    labels: JSON.stringify(body.labels ?? {}),
    protect_delete: body.protection?.delete ?? false,
    protect_rebuild: body.protection?.rebuild ?? false,
    start_when_created: body.start ?? true,
    node,
    ...ownerColumns(owner ?? null),
  });
  sendAhead(tx, row, (error) =>
    violatedConstraint(error) === "server_name"
      ? new Conflict(serverNameTaken(body.name, region.slug, null))
      : error,
  );
}

async function insertInterface(
  { body, organisationId }: NewServer,
  tx: Tx,
  serverId: string,
  { region, subnet }: Placement,
  created: DefaultNetwork | null,
  vmid: number,
): Promise<void> {
  const subnetId = subnet?.id ?? created?.subnetId;
  if (subnetId === undefined) throw new Error("the server has no subnet to go to");
  await addFirstInterface(tx, { organisationId, region, serverId, subnetId, vmid, wanted: body.private_ip });
}

async function giveAlong(
  { body }: NewServer,
  tx: Tx,
  server: HookedServer,
  hooks: readonly ServerHooks[],
): Promise<void> {
  for (const hook of hooks) await hook.give?.(tx, server, body);
}

/**
 * Without keys, and a Windows only if it is started: its guest agent is who sets the password (ADR 0029). Nobody signs in to
 * a managed server: its owner reaches it by the guest agent.
 */
function getsPassword({ body, owner }: NewServer, { osFamily }: Image): boolean {
  const { ssh_key_ids = [], start = true } = body;
  return owner === undefined && ssh_key_ids.length === 0 && (osFamily === "linux" || start);
}

/** @returns the password to show once, or null when there is none */
function writePassword(
  request: NewServer,
  tx: Tx,
  serverId: string,
  { region, image }: Placement,
): string | null {
  if (!getsPassword(request, image)) return null;
  return keepNewPassword(
    tx,
    { id: serverId, organisation_id: request.organisationId },
    image.osFamily,
    region.agent_public_key,
  );
}
