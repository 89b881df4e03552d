import { quotaNames } from "@kule/rules/quotas/names";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { findOrganisation } from "../organisations/index.ts";
import { readLimits } from "./limits.ts";
import { setQuotas } from "./set-quotas.ts";
import { countUse } from "./used.ts";
import { viewQuotas } from "./view.ts";

export function mountQuotas(api: Api): void {
  operation(api, "listQuotas", {
    handle: async ({ db, organisationId }) => {
      const limits = await readLimits(db, organisationId);
      return reply(200, viewQuotas(limits, await countUse(db, organisationId, quotaNames)));
    },
  });
  operation(api, "setQuotas", {
    find: (request) => findOrganisation(request.db, request.pathId("organisation_id", "org")),
    mutate: setQuotas,
  });
}
