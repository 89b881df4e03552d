import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { regionInMaintenance } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { takeQuota } from "../quotas/index.ts";
import { chooseRegion, listVisibleRegions } from "../regions/index.ts";
import { agentKeyUnknown, certificateNameTaken } from "./conflicts.ts";
import { useMaterial } from "./material-store.ts";
import { sealUpload, uploadErrors } from "./read-material.ts";
import { findAgentKey, findNamesake, insertCertificate, writtenCertificate } from "./store.ts";
import { viewCertificate } from "./view.ts";

type Request = ApiRequest<"createCertificate">;
type Body = RequestBody<"createCertificate">;

const needed = {
  uploaded: ["certificate", "private_key"],
} as const satisfies { readonly [type in Body["type"]]: readonly (keyof Body)[] };

export async function checkCreateCertificate(request: Request, body: Partial<Body>): Promise<FieldError[]> {
  const region = chooseRegion(await listVisibleRegions(request.db, request.organisationId), body.region);
  return [
    ...("error" in region ? [region.error] : []),
    ...(body.type === undefined ? [] : missing(request, needed[body.type])),
    ...uploadErrors(body),
  ];
}

function missing(request: Request, fields: readonly (keyof Body)[]): FieldError[] {
  return fields
    .filter((field) => !request.hasSent(field))
    .map((field) => fieldError(`/${field}`, "required", "is required"));
}

/** Stores an uploaded certificate, with its key sealed to the agent of its region. */
export async function createCertificate(request: Request, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const chosen = chooseRegion(await listVisibleRegions(tx, organisationId), body.region);
  if ("error" in chosen) throw new Invalid([chosen.error]);
  const { slug, maintenance } = chosen.region;
  if (maintenance) throw new Conflict(regionInMaintenance(slug));
  const agentKey = await findAgentKey(tx, slug);
  if (agentKey === null) throw new Conflict(agentKeyUnknown(slug));
  await takeQuota(tx, organisationId, { certificates: 1 });
  const namesake = await findNamesake(tx, organisationId, body.name);
  if (namesake !== null) throw certificateNameTaken(body.name, namesake);

  const id = newId("cert");
  const material = sealUpload(body, id, 1, agentKey);
  await insertCertificate(tx, {
    id,
    organisation_id: organisationId,
    region: slug,
    name: body.name,
    type: body.type,
    labels: JSON.stringify(body.labels ?? {}),
    domain_names: [...material.facts.names],
    version: 1,
    last_version: 1,
    generation: 0,
    created_by: JSON.stringify(request.caller.actor),
  }).catch((error: unknown) => {
    // A concurrent create inserted it between our check and our insert.
    if (violatedConstraint(error) === "certificate_name") throw certificateNameTaken(body.name, null);
    throw error;
  });
  await useMaterial(tx, { id, organisation_id: organisationId }, material);
  const row = await writtenCertificate(tx, organisationId, id);
  return {
    reply: reply(
      201,
      { certificate: viewCertificate(row), job: null },
      { Location: `/api/v1/certificates/${id}`, ETag: `"g${row.generation}"` },
    ),
    resource: id,
    details: { region: slug, fingerprint_sha256: material.facts.fingerprintSha256 },
  };
}
