import { nameTaken } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { insertOrganisation } from "./store.ts";
import { viewOrganisation } from "./view.ts";

export async function createOrganisation(
  { body }: ApiRequest<"createOrganisation">,
  tx: Tx,
): Promise<Outcome> {
  const values = {
    id: newId("org"),
    slug: body.slug,
    name: body.name,
    server_limit: body.limits?.servers ?? null,
  };
  const row = await insertOrganisation(tx, values).catch((error: unknown) => {
    if (violatedConstraint(error) !== "organisation_slug_key") throw error;
    throw new Conflict(
      nameTaken("organisation_slug_free", `an organisation ${body.slug} already exists`, {
        fix: "take another slug",
      }),
    );
  });
  const headers = { Location: `/api/v1/organisations/${row.id}` };
  return { reply: reply(201, viewOrganisation(row), headers), resource: row.id };
}
