import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { findOrganisation } from "../organisations/index.ts";
import { readLimits } from "./limits.ts";
import { setQuotas } from "./set-quotas.ts";
import { readUse } from "./used.ts";
import { viewQuotas } from "./view.ts";

export function mountQuotas(api: Api): void {
  operation(api, "listQuotas", {
    handle: async ({ db, organisationId }) => {
      const [limits, use] = await Promise.all([readLimits(db, organisationId), readUse(db, organisationId)]);
      return reply(200, viewQuotas(limits, use));
    },
  });
  operation(api, "setQuotas", {
    find: (request) => findOrganisation(request.db, request.pathId("organisation_id", "org")),
    mutate: setQuotas,
  });
}
