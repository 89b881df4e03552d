import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { certificateNameTaken } from "./conflicts.ts";
import { type CertificateHooks, usesOf } from "./hooks.ts";
import {
  type CertificateRow,
  findNamesake,
  lockCertificate,
  updateCertificateRow,
  writtenCertificate,
} from "./store.ts";
import { viewCertificate } from "./view.ts";

type Request = ApiRequest<"updateCertificate">;

export function checkUpdateCertificate(
  _request: Request,
  body: Partial<RequestBody<"updateCertificate">>,
  found: CertificateRow,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

export async function updateCertificate(
  request: Request,
  tx: Tx,
  found: CertificateRow,
  hooks: readonly CertificateHooks[],
): Promise<Outcome> {
  const { body, organisationId } = request;
  const certificate = await lockCertificate(tx, organisationId, found.id);
  if (certificate === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(certificate.labels, body.labels) };
  request.checkGeneration(certificate);
  if (body.name !== undefined && body.name !== certificate.name) {
    const namesake = await findNamesake(tx, organisationId, body.name);
    if (namesake !== null) throw certificateNameTaken(body.name, namesake);
  }
  const name = body.name === undefined ? {} : { name: body.name };
  await updateCertificateRow(tx, organisationId, certificate.id, { ...name, ...labels }).catch(
    (error: unknown) => {
      if (violatedConstraint(error) === "certificate_name") throw certificateNameTaken(body.name ?? "", null);
      throw error;
    },
  );
  const row = await writtenCertificate(tx, organisationId, certificate.id);
  const uses = await usesOf(hooks, tx, organisationId, [row.id]);
  return { reply: reply(200, viewCertificate(row, uses.get(row.id))), resource: row.id };
}
