import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { listDrift } from "./store.ts";
import { viewDrift } from "./view.ts";

export function mountInventory(api: Api): void {
  operation(api, "listDrift", {
    handle: async (request) => {
      const page = await listDrift(request.db, request.query);
      return reply(200, { items: page.rows.map(viewDrift), next_cursor: page.nextCursor });
    },
  });
}
