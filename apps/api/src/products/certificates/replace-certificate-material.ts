import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { agentKeyUnknown, notUploaded } from "./conflicts.ts";
import { type CertificateHooks, usesOf } from "./hooks.ts";
import { useMaterial } from "./material-store.ts";
import { sealUpload, uploadErrors } from "./read-material.ts";
import {
  type CertificateRow,
  findAgentKey,
  giveVersion,
  lockCertificate,
  writtenCertificate,
} from "./store.ts";
import { viewCertificate } from "./view.ts";

type Request = ApiRequest<"replaceCertificateMaterial">;

export function checkReplaceCertificateMaterial(
  _request: Request,
  body: Partial<RequestBody<"replaceCertificateMaterial">>,
): FieldError[] {
  return uploadErrors(body);
}

/** The new certificate and key take the place of the old ones, wherever those are used. */
export async function replaceCertificateMaterial(
  request: Request,
  tx: Tx,
  found: CertificateRow,
  hooks: readonly CertificateHooks[],
): Promise<Outcome> {
  const { body, organisationId } = request;
  const certificate = await lockCertificate(tx, organisationId, found.id);
  if (certificate === null) throw new NotFound();
  request.checkGeneration(certificate);
  if (certificate.type !== "uploaded") throw notUploaded(certificate);
  const agentKey = await findAgentKey(tx, certificate.region);
  if (agentKey === null) throw new Conflict(agentKeyUnknown(certificate.region));
  const version = await giveVersion(tx, certificate);
  const material = sealUpload(body, certificate.id, version, agentKey);
  await useMaterial(tx, certificate, material, material.facts.names);
  const row = await writtenCertificate(tx, organisationId, certificate.id);
  const uses = await usesOf(hooks, tx, organisationId, [row.id]);
  return {
    reply: reply(200, viewCertificate(row, uses.get(row.id))),
    resource: row.id,
    details: { version, fingerprint_sha256: material.facts.fingerprintSha256 },
  };
}
