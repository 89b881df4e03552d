import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { lockOrganisation, type OrganisationRow, updateOrganisationRow } from "./store.ts";
import { viewOrganisation } from "./view.ts";

/** Renames, suspends, resumes or limits; effective in this process at once, in the others within a second. */
export async function updateOrganisation(
  request: ApiRequest<"updateOrganisation">,
  found: OrganisationRow,
): Promise<Reply> {
  const answer = await mutation(request, (tx) => update(request, tx, found.id));
  request.deps.tokens.forgetOrganisation(found.id);
  return answer;
}

async function update(request: ApiRequest<"updateOrganisation">, tx: Tx, id: string): Promise<Outcome> {
  const organisation = await lockOrganisation(tx, id);
  if (organisation === null) throw new NotFound();
  request.checkGeneration(organisation);
  const { name, status, limits } = request.body;
  const row = await updateOrganisationRow(tx, id, {
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    ...(limits?.servers === undefined ? {} : { server_limit: limits.servers }),
  });
  return { reply: reply(200, viewOrganisation(row)), resource: id };
}
