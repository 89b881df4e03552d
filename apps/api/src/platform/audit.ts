import type { AuditAction } from "@kule/contract/generated/operations";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import type { ApiRequest } from "./api-request.ts";
import { type Database, isTransaction, systemQuery, type Tx } from "./database.ts";
import { Invalid, type Refusal } from "./errors.ts";
import { newId } from "./ids.ts";
import { storableText } from "./storable-text.ts";
import { sendAhead } from "./transaction.ts";

export type AuditNote = {
  /** When it is not the operation's own. */
  readonly action?: AuditAction | SystemAuditAction;
  readonly resource: string | null;
  readonly outcome: "succeeded" | "refused" | "failed";
  readonly httpStatus: number;
  readonly code: string | null;
  readonly details: Readonly<Record<string, unknown>>;
};

/** Body fields that are secrets themselves and are never noted. */
const secretFields = new Set([
  "password",
  "secret",
  "current_password",
  "new_password",
  "sign_in",
  "code",
  "recovery_code",
  "ceremony",
  "response",
  "passkey",
  "flow",
  "invitation",
  "oidc",
  "private_key",
]);
const maxDetailCharacters = 4_000;

/** Writes who did what and how it ended; in the transaction of what was done, whose commit tells whether it could. */
export async function writeAudit(
  connection: Database | Tx,
  request: ApiRequest,
  note: AuditNote,
): Promise<void> {
  const caller = request.established.caller;
  const action = note.action ?? request.operation.audit;
  if (action === null) throw new Error(`${request.operation.id} has no audit action`);
  const actor = request.established.actor ?? caller?.actor;
  const onBehalf = caller?.isOperator === true && request.organisationOrNull !== null;
  const row = systemQuery(connection, "the audit trail holds rows of no organisation too")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: request.organisationOrNull?.id ?? null,
      region: caller?.region ?? null,
      actor_type: actor?.type ?? "anonymous",
      actor_id: actor?.id ?? null,
      actor_name: actor?.name ?? null,
      action,
      resource: note.resource,
      outcome: note.outcome,
      http_status: note.httpStatus,
      code: note.code,
      request_id: request.id,
      source_address: request.sourceAddress,
      details: JSON.stringify({ ...note.details, ...(onBehalf ? { on_behalf: true } : {}) }),
    });
  if (isTransaction(connection)) sendAhead(connection, row);
  else await row.execute();
  request.established.audited = true;
}

/** The request, without secrets and cut to the length of an audit entry. */
export function requestDetails(request: ApiRequest): Record<string, unknown> {
  const body = request.established.body;
  if (typeof body !== "object" || body === null) return {};
  const details = Object.fromEntries(Object.entries(body).filter(([name]) => !secretFields.has(name)));
  if (JSON.stringify(details).length <= maxDetailCharacters) return details;
  return { fields: Object.keys(details), too_long: true };
}

/** Which fields were refused and why; never their values, which were not validated. */
export function refusalDetails(request: ApiRequest, refusal: Refusal | null): Record<string, unknown> {
  const more = request.established.auditDetails;
  if (!(refusal instanceof Invalid)) return { ...more };
  return {
    ...more,
    errors: refusal.errors
      .slice(0, 20)
      .map(({ field, code }) => ({ field: storableText(field.slice(0, 200)), code })),
  };
}
