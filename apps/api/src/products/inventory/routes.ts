import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { regionOf } from "../regions/index.ts";
import { readCapacity } from "./capacity.ts";
import { findImplausibleTraffic, findLastPass, listDrift } from "./store.ts";
import { viewCapacity, viewDrift } from "./view.ts";

export function mountInventory(api: Api): void {
  operation(api, "getRegionCapacity", {
    find: regionOf,
    handle: async ({ db }, { slug }) =>
      reply(
        200,
        viewCapacity(
          slug,
          await readCapacity(db, slug),
          await findLastPass(db, slug),
          await findImplausibleTraffic(db, slug),
        ),
      ),
  });
  operation(api, "listDrift", {
    handle: async (request) => {
      const page = await listDrift(request.db, request.query);
      return reply(200, { items: page.rows.map(viewDrift), next_cursor: page.nextCursor });
    },
  });
}
