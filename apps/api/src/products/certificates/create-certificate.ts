import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { isPublicSuffix } from "@kule/dns/public-suffix";
import { domainOfName } from "@kule/rules/certificates/dns-proof";
import { readManagedNames } from "@kule/rules/certificates/domain-names";
import { regionInMaintenance } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { readProvingDomains } from "../domains/index.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { chooseRegion, listVisibleRegions } from "../regions/index.ts";
import { agentKeyUnknown, caNotConfigured, certificateNameTaken } from "./conflicts.ts";
import { useMaterial } from "./material-store.ts";
import { beginAttempt } from "./order-store.ts";
import { sealUpload, uploadErrors } from "./read-material.ts";
import { findAgentKey, findNamesake, insertCertificate, writtenCertificate } from "./store.ts";
import { viewCertificate } from "./view.ts";

type Request = ApiRequest<"createCertificate">;
type Body = RequestBody<"createCertificate">;
type Type = Schemas["CertificateType"];

const needed: { readonly [type in Type]: readonly (keyof Body)[] } = {
  uploaded: ["certificate", "private_key"],
  managed: ["domain_names"],
};
/** Fields of the other type. */
const others: { readonly [type in Type]: readonly (keyof Body)[] } = {
  uploaded: ["domain_names", "challenge"],
  managed: ["certificate", "chain", "private_key"],
};

export async function checkCreateCertificate(request: Request, body: Partial<Body>): Promise<FieldError[]> {
  const { type } = body;
  const region = chooseRegion(await listVisibleRegions(request.db, request.organisationId), body.region);
  const wrong = "error" in region ? [region.error] : [];
  if (type === undefined) return wrong;
  return [
    ...wrong,
    ...needed[type]
      .filter((field) => !request.hasSent(field))
      .map((field) => fieldError(`/${field}`, "required", "is required")),
    ...others[type]
      .filter((field) => request.hasSent(field))
      .map((field) => fieldError(`/${field}`, "conflicts_with", `is not of a certificate that is ${type}`)),
    ...(type === "uploaded" ? uploadErrors(body) : await nameErrors(request, body)),
  ];
}

/** A name that no domain of the organisation contains cannot be proven by a record; one that is not proven yet may be. */
async function nameErrors(
  { db, organisationId }: { readonly db: Database; readonly organisationId: string },
  { domain_names: texts, challenge = "dns" }: Partial<Body>,
): Promise<FieldError[]> {
  if (texts === undefined) return [];
  const reading = readManagedNames(texts, challenge, isPublicSuffix);
  if (!reading.ok)
    return reading.problems.map(({ field, rule, message, fix }) =>
      fieldError(field, codes[rule] ?? "invalid_format", `${message}. ${fix}`),
    );
  if (challenge !== "dns") return [];
  const domains = await readProvingDomains(db, organisationId, reading.names);
  return reading.names.flatMap((name, index) =>
    domainOfName(name, domains) === null
      ? [
          fieldError(
            `/domain_names/${index}`,
            "not_found",
            `No domain of this organisation contains ${name}. Add it: POST /domains`,
          ),
        ]
      : [],
  );
}

const codes: { readonly [rule: string]: FieldError["code"] } = {
  no_names: "required",
  too_many_names: "too_long",
  name_twice: "duplicate",
  wildcard_needs_dns: "conflicts_with",
};

/** Stores an uploaded certificate with its key sealed to the agent of its region, or begins to have one issued. */
export async function createCertificate(request: Request, tx: Tx): Promise<Outcome> {
  const { body, organisationId, caller } = request;
  const chosen = chooseRegion(await listVisibleRegions(tx, organisationId), body.region);
  if ("error" in chosen) throw new Invalid([chosen.error]);
  const { slug, maintenance } = chosen.region;
  if (maintenance) throw new Conflict(regionInMaintenance(slug));
  if (body.type === "managed" && request.deps.settings.acme === null) throw caNotConfigured();
  const agentKey = await findAgentKey(tx, slug);
  if (agentKey === null) throw new Conflict(agentKeyUnknown(slug));
  await takeQuota(tx, organisationId, { certificates: 1 });
  const namesake = await findNamesake(tx, organisationId, body.name);
  if (namesake !== null) throw certificateNameTaken(body.name, namesake);

  const id = newId("cert");
  const certificate = { id, organisation_id: organisationId, region: slug };
  const material = body.type === "uploaded" ? sealUpload(body, id, 1, agentKey) : null;
  const domainNames = material === null ? managedNames(body) : material.facts.names;
  await insertCertificate(tx, {
    ...certificate,
    name: body.name,
    type: body.type,
    labels: JSON.stringify(body.labels ?? {}),
    domain_names: [...domainNames],
    challenge: body.type === "managed" ? (body.challenge ?? "dns") : null,
    ...(material === null ? {} : { version: 1, last_version: 1, generation: 0 }),
    created_by: JSON.stringify(caller.actor),
  }).catch((error: unknown) => {
    // A concurrent create inserted it between our check and our insert.
    if (violatedConstraint(error) === "certificate_name") throw certificateNameTaken(body.name, null);
    throw error;
  });
  const by = { requestedBy: caller.actor, requestId: request.id };
  if (material !== null) await useMaterial(tx, certificate, material);
  const job = material === null ? await beginAttempt(tx, certificate, by) : null;
  const row = await writtenCertificate(tx, organisationId, id);
  return {
    reply: reply(
      job === null ? 201 : 202,
      { certificate: viewCertificate(row), job: await viewJobOrNone(tx, job, caller) },
      { Location: `/api/v1/certificates/${id}`, ETag: `"g${row.generation}"` },
    ),
    resource: id,
    details: {
      region: slug,
      ...(material === null ? {} : { fingerprint_sha256: material.facts.fingerprintSha256 }),
      ...(job === null ? {} : { job: job.id }),
    },
  };
}

function managedNames({ domain_names: texts = [], challenge = "dns" }: Body): readonly string[] {
  const reading = readManagedNames(texts, challenge, isPublicSuffix);
  if (!reading.ok) throw new Error("checkCreateCertificate let wrong names pass");
  return reading.names;
}
