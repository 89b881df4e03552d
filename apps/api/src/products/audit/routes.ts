import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { listAudit } from "./store.ts";
import { verifyAudit } from "./verify-audit.ts";
import { viewAuditEntry } from "./view.ts";

export function mountAudit(api: Api): void {
  operation(api, "verifyAudit", { organisation: "optional", handle: verifyAudit });
  operation(api, "listAudit", {
    organisation: "optional",
    handle: async (request) => {
      const page = await listAudit(request.db, request.organisationOrNull?.id ?? null, request.query);
      return reply(200, { items: page.rows.map(viewAuditEntry), next_cursor: page.nextCursor });
    },
  });
}
