import { createHash } from "node:crypto";
import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { parseSshPublicKey } from "@kule/rules/ssh-keys/parse";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { fieldError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { takeQuota } from "../quotas/index.ts";
import { keyKnown, keyNameTaken } from "./conflicts.ts";
import { findSshKeyLike, insertSshKey } from "./store.ts";
import { viewSshKey } from "./view.ts";

export function checkCreateSshKey(
  _request: ApiRequest<"createSshKey">,
  body: Partial<RequestBody<"createSshKey">>,
): FieldError[] {
  if (body.public_key === undefined) return [];
  const parsed = parseSshPublicKey(body.public_key);
  return parsed.ok ? [] : [fieldError("/public_key", "invalid_format", parsed.message)];
}

/** Stores the key in its canonical form, with the fingerprints that `ssh-keygen -l` shows. */
export async function createSshKey(request: ApiRequest<"createSshKey">, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const parsed = parseSshPublicKey(body.public_key);
  if (!parsed.ok) throw new Error(`checkCreateSshKey let this pass: ${parsed.message}`);
  const fingerprint = sha256Fingerprint(parsed.blob);
  await takeQuota(tx, organisationId, { ssh_keys: 1 });
  const namesake = await findSshKeyLike(tx, organisationId, "name", body.name);
  if (namesake !== null) throw keyNameTaken(body.name, namesake);
  const twin = await findSshKeyLike(tx, organisationId, "fingerprint_sha256", fingerprint);
  if (twin !== null) throw keyKnown(twin);

  const row = await insertSshKey(tx, {
    id: newId("key"),
    organisation_id: organisationId,
    name: body.name,
    public_key: parsed.publicKey,
    fingerprint_sha256: fingerprint,
    fingerprint_md5: md5Fingerprint(parsed.blob),
    type: parsed.type,
    bits: parsed.bits,
    comment: parsed.comment,
    labels: JSON.stringify(body.labels ?? {}),
    created_by: JSON.stringify(request.caller.actor),
  }).catch((error: unknown) => {
    // A concurrent create inserted it between our check and our insert.
    const constraint = violatedConstraint(error);
    if (constraint === "ssh_key_name") throw keyNameTaken(body.name, null);
    if (constraint === "ssh_key_fingerprint") throw keyKnown(null);
    throw error;
  });
  return {
    reply: reply(201, viewSshKey(row), { Location: `/api/v1/ssh-keys/${row.id}` }),
    resource: row.id,
    details: { fingerprint_sha256: fingerprint },
  };
}

/** As OpenSSH prints it: unpadded base64. */
function sha256Fingerprint(blob: Uint8Array): string {
  return `SHA256:${createHash("sha256")
    .update(blob)
    .digest("base64")
    .replace(/={1,2}$/, "")}`;
}

function md5Fingerprint(blob: Uint8Array): string {
  return (createHash("md5").update(blob).digest("hex").match(/../g) ?? []).join(":");
}
