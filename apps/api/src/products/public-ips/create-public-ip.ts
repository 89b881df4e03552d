import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { formatIp, parseIp } from "@kule/rules/public-ips/addresses";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { takeQuota } from "../quotas/index.ts";
import { chooseRegion, listVisibleRegions } from "../regions/index.ts";
import { takePublicIp } from "./allocation.ts";
import { findPublicIp } from "./store.ts";
import { viewPublicIp } from "./view.ts";

export async function checkCreatePublicIp(
  request: ApiRequest<"createPublicIp">,
  body: Partial<RequestBody<"createPublicIp">>,
): Promise<FieldError[]> {
  const region = chooseRegion(await listVisibleRegions(request.db, request.organisationId), body.region);
  return [
    ...("error" in region ? [region.error] : []),
    ...(body.address === undefined || parseIp(body.address) !== null
      ? []
      : [fieldError("/address", "invalid_format", "is not an address such as 203.0.113.7 or 2001:db8::7")]),
  ];
}

export async function createPublicIp(request: ApiRequest<"createPublicIp">, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const chosen = chooseRegion(await listVisibleRegions(tx, organisationId), body.region);
  if ("error" in chosen) throw new Invalid([chosen.error]);
  await takeQuota(tx, organisationId, { public_ips: 1 });
  const wanted = body.address === undefined ? null : parseIp(body.address);
  const id = await takePublicIp(tx, {
    organisationId,
    region: chosen.region.slug,
    version: body.version ?? 4,
    address: wanted === null ? null : formatIp(wanted),
    more: {
      labels: JSON.stringify(body.labels ?? {}),
      ...(body.ptr === undefined ? {} : { ptr: body.ptr }),
      delete_with_server: body.delete_with_server ?? false,
      protect_delete: body.protection?.delete ?? false,
    },
  });
  const row = await findPublicIp(tx, organisationId, id);
  if (row === null) throw new Error("a public IP that was just taken could not be found");
  return {
    reply: reply(201, viewPublicIp(row), { Location: `/api/v1/public-ips/${id}` }),
    resource: id,
    details: { region: row.region, address: row.address },
  };
}
