import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { deleteSshKeyRow, lockSshKey, type SshKeyRow } from "./store.ts";

/** Servers that have the key keep it: it was copied to them when they were created. */
export async function deleteSshKey(
  request: ApiRequest<"deleteSshKey">,
  tx: Tx,
  found: SshKeyRow,
): Promise<Outcome> {
  const key = await lockSshKey(tx, request.organisationId, found.id);
  if (key === null) throw new NotFound();
  request.checkGeneration(key);
  await deleteSshKeyRow(tx, request.organisationId, key.id);
  return {
    reply: noContent(),
    resource: key.id,
    details: { name: key.name, fingerprint_sha256: key.fingerprint_sha256 },
  };
}
