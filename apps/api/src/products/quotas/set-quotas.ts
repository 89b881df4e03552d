import { quotaNames } from "@kule/rules/quotas/names";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { lockOrganisation, type OrganisationRow, updateOrganisationRow } from "../organisations/index.ts";
import { limitColumns, readLimits } from "./limits.ts";
import { readUse } from "./used.ts";
import { viewQuotas } from "./view.ts";

/**
 * Sets limits, under the lock that every use of quota takes, so that no transaction decides by the old limit
 * afterwards.
 */
export async function setQuotas(
  request: ApiRequest<"setQuotas">,
  tx: Tx,
  found: OrganisationRow,
): Promise<Outcome> {
  const { limits } = request.body;
  if ((await lockOrganisation(tx, found.id)) === null) throw new NotFound();
  const changes = quotaNames.flatMap((name) => {
    const limit = limits[name];
    return limit === undefined ? [] : [[limitColumns[name], limit] as const];
  });
  await updateOrganisationRow(tx, found.id, Object.fromEntries(changes));
  const view = viewQuotas(await readLimits(tx, found.id), await readUse(tx, found.id));
  return { reply: reply(200, view), resource: found.id };
}
