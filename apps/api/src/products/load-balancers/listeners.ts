import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideListener, decideRemoveListener } from "@kule/rules/load-balancers/lifecycle";
import { type ListenerRequest, listenerProblems } from "@kule/rules/load-balancers/listener";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, Invalid, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { answeredWithApply, lockForChange } from "./answers.ts";
import { errorOf, listenerOf } from "./fields.ts";
import { certificateErrors, holdCertificates } from "./listener-certificates.ts";
import {
  changedListener,
  deleteListenerRow,
  findListener,
  insertListener,
  type ListenerRow,
  listenersOf,
  viewListener,
  writeListener,
} from "./listener-store.ts";
import type { LoadBalancerDetails, LoadBalancerRow } from "./store.ts";

export type ListenerOfLoadBalancer = {
  readonly loadBalancer: LoadBalancerDetails;
  readonly listener: ListenerRow;
};

const errorsOf = (listener: ListenerRequest): FieldError[] => listenerProblems(listener).map(errorOf);

const placeOf = ({ organisation_id, region }: LoadBalancerRow) => ({
  organisationId: organisation_id,
  region,
});

export async function checkCreateListener(
  { db }: ApiRequest<"createListener">,
  body: Partial<RequestBody<"createListener">>,
  loadBalancer: LoadBalancerDetails,
): Promise<FieldError[]> {
  const { protocol, port } = body;
  // What the contract has refused is told there; the rest is checked beside any valid value.
  const problems = errorsOf(listenerOf({ ...body, protocol: protocol ?? "tcp", port: port ?? 1 }));
  return [
    ...problems.filter(
      ({ pointer }) => (protocol !== undefined || pointer !== "/protocol") && isOf(port, pointer),
    ),
    ...(await certificateErrors(db, placeOf(loadBalancer), body.certificate_ids ?? [], [])),
  ];
}

const isOf = (port: number | undefined, pointer: string) =>
  port !== undefined || (pointer !== "/port" && pointer !== "/target_port");

export async function createListener(
  request: ApiRequest<"createListener">,
  tx: Tx,
  found: LoadBalancerDetails,
): Promise<Outcome> {
  const row = await lockForChange(request, tx, found);
  await refuse(tx, row, listenerOf(request.body), null);
  await holdCertificates(tx, placeOf(row), request.body.certificate_ids ?? [], []);
  const listener = await insertListener(tx, row, request.body);
  return answeredWithApply(request, tx, row, {
    part: { listener: viewListener(listener) },
    resource: listener.id,
  });
}

export async function checkUpdateListener(
  { db }: ApiRequest<"updateListener">,
  body: Partial<RequestBody<"updateListener">>,
  { listener, loadBalancer }: ListenerOfLoadBalancer,
): Promise<FieldError[]> {
  const ids = body.certificate_ids ?? [];
  return [
    ...errorsOf(changedListener(listener, body)),
    ...(await certificateErrors(db, placeOf(loadBalancer), ids, listener.certificate_ids)),
  ];
}

export async function updateListener(
  request: ApiRequest<"updateListener">,
  tx: Tx,
  found: ListenerOfLoadBalancer,
): Promise<Outcome> {
  const row = await lockForChange(request, tx, found.loadBalancer);
  const before = await findListener(tx, row.organisation_id, row.id, found.listener.id);
  if (before === null) throw new NotFound();
  const changed = changedListener(before, request.body);
  // It may have been changed since it was checked.
  const errors = errorsOf(changed);
  if (errors.length > 0) throw new Invalid(errors);
  await refuse(tx, row, changed, before.id);
  await holdCertificates(tx, placeOf(row), request.body.certificate_ids ?? [], before.certificate_ids);
  const listener = await writeListener(tx, row, before, changed);
  return answeredWithApply(request, tx, row, {
    part: { listener: viewListener(listener) },
    resource: listener.id,
  });
}

export async function deleteListener(
  request: ApiRequest<"deleteListener">,
  tx: Tx,
  found: ListenerOfLoadBalancer,
): Promise<Outcome> {
  const row = await lockForChange(request, tx, found.loadBalancer);
  const listener = await findListener(tx, row.organisation_id, row.id, found.listener.id);
  if (listener === null) throw new NotFound();
  const refusal = decideRemoveListener(await othersThan(tx, row, listener.id), row.id);
  if (refusal !== null) throw new Conflict(refusal);
  await deleteListenerRow(tx, listener);
  return answeredWithApply(request, tx, row, { resource: listener.id });
}

async function refuse(
  tx: Tx,
  row: LoadBalancerRow,
  listener: ListenerRequest,
  self: string | null,
): Promise<void> {
  const besides = {
    protocol: listener.protocol,
    port: listener.port,
    redirectToHttps: listener.redirectToHttps,
  };
  const refusal = decideListener(besides, await othersThan(tx, row, self), row.id);
  if (refusal !== null) throw new Conflict(refusal);
}

async function othersThan(tx: Tx, row: LoadBalancerRow, self: string | null) {
  return (await listenersOf(tx, row))
    .filter(({ id }) => id !== self)
    .map(({ id, protocol, port, redirect_to_https }) => ({
      id,
      protocol,
      port,
      redirectToHttps: redirect_to_https,
    }));
}
