import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { keyNameTaken } from "./conflicts.ts";
import { findSshKeyLike, lockSshKey, type SshKeyRow, updateSshKeyRow } from "./store.ts";
import { useOfKeys } from "./use.ts";
import { viewSshKey } from "./view.ts";

export function checkUpdateSshKey(
  _request: ApiRequest<"updateSshKey">,
  body: Partial<RequestBody<"updateSshKey">>,
  found: SshKeyRow,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

export async function updateSshKey(
  request: ApiRequest<"updateSshKey">,
  tx: Tx,
  found: SshKeyRow,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const key = await lockSshKey(tx, organisationId, found.id);
  if (key === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(key.labels, body.labels) };
  request.checkGeneration(key);
  if (body.name !== undefined && body.name !== key.name) {
    const namesake = await findSshKeyLike(tx, organisationId, "name", body.name);
    if (namesake !== null) throw keyNameTaken(body.name, namesake);
  }
  const name = body.name === undefined ? {} : { name: body.name };
  const row = await updateSshKeyRow(tx, organisationId, key.id, { ...name, ...labels }).catch(
    (error: unknown) => {
      if (violatedConstraint(error) === "ssh_key_name") throw keyNameTaken(body.name ?? "", null);
      throw error;
    },
  );
  const use = await useOfKeys(request, tx, [row.id]);
  return { reply: reply(200, viewSshKey(row, use.get(row.id))), resource: row.id };
}
