import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { regionInMaintenance } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { chooseRegion, listVisibleRegions } from "../regions/index.ts";
import { askedBy, requestNetworkApply } from "./apply.ts";
import { networkNameTaken } from "./conflicts.ts";
import { networkCidrErrors, nextNetworkRange } from "./ranges.ts";
import { findNetworkDetails, insertNetwork, listRanges } from "./store.ts";
import { viewNetwork } from "./view.ts";

export async function checkCreateNetwork(
  request: ApiRequest<"createNetwork">,
  body: Partial<RequestBody<"createNetwork">>,
): Promise<FieldError[]> {
  const region = chooseRegion(await listVisibleRegions(request.db, request.organisationId), body.region);
  return [
    ...("error" in region ? [region.error] : []),
    ...(body.cidr === undefined ? [] : networkCidrErrors(body.cidr)),
  ];
}

export async function createNetwork(request: ApiRequest<"createNetwork">, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const chosen = chooseRegion(await listVisibleRegions(tx, organisationId), body.region);
  if ("error" in chosen) throw new Invalid([chosen.error]);
  const { slug, maintenance } = chosen.region;
  if (maintenance) throw new Conflict(regionInMaintenance(slug));
  await takeQuota(tx, organisationId, { networks: 1 });
  const network = await insertNetwork(tx, {
    id: newId("net"),
    organisation_id: organisationId,
    region: slug,
    name: body.name,
    cidr: body.cidr ?? nextNetworkRange(await listRanges(tx, organisationId, slug)),
    description: body.description ?? "",
    labels: JSON.stringify(body.labels ?? {}),
  });
  if (network === null) throw networkNameTaken(body.name, slug);
  const job = await requestNetworkApply(tx, organisationId, network.id, askedBy(request));
  const row = await findNetworkDetails(tx, organisationId, network.id);
  if (row === null) throw new Error("a network that was just made could not be found");
  return {
    reply: reply(
      job === null ? 201 : 202,
      { network: viewNetwork(row), job: await viewJobOrNone(tx, job, request.caller) },
      { Location: `/api/v1/networks/${row.id}`, ETag: `"g${row.generation}"` },
    ),
    resource: row.id,
    details: { region: slug, cidr: row.cidr },
  };
}
