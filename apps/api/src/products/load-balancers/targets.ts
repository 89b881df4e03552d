import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideTarget } from "@kule/rules/load-balancers/lifecycle";
import { maxWeight } from "@kule/rules/load-balancers/limits";
import { numberProblems } from "@kule/rules/load-balancers/numbers";
import { targetProblems } from "@kule/rules/load-balancers/target";
import { alreadyAttached } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { answeredWithApply, lockForChange } from "./answers.ts";
import { errorOf, targetOf } from "./fields.ts";
import { strangeServers, targetNetwork } from "./place.ts";
import type { LoadBalancerDetails } from "./store.ts";
import { findTarget, insertTarget, type TargetRow, targetsOf, viewTarget } from "./target-store.ts";

export type TargetOfLoadBalancer = {
  readonly loadBalancer: LoadBalancerDetails;
  readonly target: TargetRow;
};

const noSuchServer = () => fieldError("/server_id", "not_found", "no such server in the network");

export async function checkCreateTarget(
  { db, organisationId }: ApiRequest<"createTarget">,
  body: Partial<RequestBody<"createTarget">>,
  found: LoadBalancerDetails,
): Promise<FieldError[]> {
  const network = await targetNetwork(db, organisationId, found.network_id, found);
  const errors = targetProblems(targetOf(body), network).map(errorOf);
  const { server_id } = body;
  if (server_id === undefined) return errors;
  const strange = await strangeServers(db, organisationId, found.network_id, [server_id]);
  return strange.has(server_id) ? [...errors, noSuchServer()] : errors;
}

export async function createTarget(
  request: ApiRequest<"createTarget">,
  tx: Tx,
  found: LoadBalancerDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  const row = await lockForChange(request, tx, found);
  const wanted = targetOf(request.body);
  // It may have been deleted since it was read.
  if (
    wanted.serverId !== null &&
    (await strangeServers(tx, organisationId, row.network_id, [wanted.serverId])).size > 0
  )
    throw new Invalid([noSuchServer()]);
  const present = await targetsOf(tx, row);
  const same = present.find(
    (each) =>
      each.server_id === wanted.serverId &&
      each.label_selector === wanted.labelSelector &&
      each.address === wanted.address,
  );
  if (same !== undefined)
    throw new Conflict(
      alreadyAttached("target_not_attached", "The load balancer has this target already", {
        resource: same.id,
        fix: `PATCH /load-balancers/${row.id}/targets/${same.id}`,
      }),
    );
  const refusal = decideTarget(present.length, row.id);
  if (refusal !== null) throw new Conflict(refusal);
  const id = await insertTarget(tx, row, wanted);
  return answerWith(request, tx, row, id);
}

export function checkUpdateTarget(
  _request: ApiRequest<"updateTarget">,
  { weight }: Partial<RequestBody<"updateTarget">>,
): FieldError[] {
  return weight === undefined
    ? []
    : numberProblems(weight, { min: 0, max: maxWeight }, "/weight").map(errorOf);
}

export async function updateTarget(
  request: ApiRequest<"updateTarget">,
  tx: Tx,
  found: TargetOfLoadBalancer,
): Promise<Outcome> {
  const row = await lockForChange(request, tx, found.loadBalancer);
  const { weight, backup, drain } = request.body;
  const changed = await tx
    .updateTable("load_balancer_target")
    .set({
      ...(weight === undefined ? {} : { weight }),
      ...(backup === undefined ? {} : { backup }),
      ...(drain === undefined ? {} : { drain }),
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", row.organisation_id)
    .where("load_balancer_id", "=", row.id)
    .where("id", "=", found.target.id)
    .returning("id")
    .executeTakeFirst();
  if (changed === undefined) throw new NotFound();
  return answerWith(request, tx, row, changed.id);
}

export async function deleteTarget(
  request: ApiRequest<"deleteTarget">,
  tx: Tx,
  found: TargetOfLoadBalancer,
): Promise<Outcome> {
  const row = await lockForChange(request, tx, found.loadBalancer);
  const gone = await tx
    .deleteFrom("load_balancer_target")
    .where("organisation_id", "=", row.organisation_id)
    .where("load_balancer_id", "=", row.id)
    .where("id", "=", found.target.id)
    .returning("id")
    .executeTakeFirst();
  if (gone === undefined) throw new NotFound();
  return answeredWithApply(request, tx, row, { resource: gone.id });
}

async function answerWith(
  request: ApiRequest,
  tx: Tx,
  row: LoadBalancerDetails,
  id: string,
): Promise<Outcome> {
  const target = await findTarget(tx, row.organisation_id, row.id, id);
  if (target === null) throw new Error(`target ${id} went away while it was written`);
  return answeredWithApply(request, tx, row, { part: { target: viewTarget(target) }, resource: id });
}
