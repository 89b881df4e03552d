import type { FieldError } from "@kule/contract/field-errors";
import {
  type ListenerCertificateRule,
  listenerCertificateProblems,
} from "@kule/rules/certificates/listener-certificates";
import type { Database, Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { lockCertificatesForUse, usableCertificates } from "../certificates/index.ts";

/** Whose listener it is; a region that is not known yet is not compared. */
export type Place = { readonly organisationId: string; readonly region: string };

const codes: { readonly [rule in ListenerCertificateRule]: FieldError["code"] } = {
  certificate_unknown: "not_found",
  certificate_elsewhere: "conflicts_with",
  certificate_not_active: "conflicts_with",
  certificate_names_overlap: "conflicts_with",
};

/**
 * Why a listener cannot have these certificates.
 *
 * @param keeps those that it has already
 * @param at JSON pointer of the listener
 */
export async function certificateErrors(
  db: Database | Tx,
  place: Place,
  ids: readonly string[],
  keeps: readonly string[],
  at = "",
): Promise<FieldError[]> {
  if (ids.length === 0) return [];
  const found = await usableCertificates(db, place.organisationId, ids);
  return listenerCertificateProblems(ids, found, place, new Set(keeps), `${at}/certificate_ids`).map(
    ({ field, rule, message, fix }) => fieldError(field, codes[rule], `${message}. ${fix}`),
  );
}

/**
 * Holds the certificates for the transaction, in which the listener begins to use them.
 *
 * @throws Invalid when one is gone, or cannot be used any more, since the request was checked
 */
export async function holdCertificates(
  tx: Tx,
  place: Place,
  ids: readonly string[],
  keeps: readonly string[],
  at = "",
): Promise<void> {
  if (ids.length === 0) return;
  await lockCertificatesForUse(tx, place.organisationId, ids);
  const errors = await certificateErrors(tx, place, ids, keeps, at);
  if (errors.length > 0) throw new Invalid(errors);
}
