import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { regionOf } from "../regions/index.ts";
import { readCapacity } from "./capacity.ts";
import {
  findRestore,
  listHeldVms,
  listRegionRestores,
  viewHeldVm,
  viewRegionRestore,
  viewRestore,
} from "./restore-store.ts";
import { findImplausibleTraffic, findLastPass, listDrift } from "./store.ts";
import { updateRegionRestore } from "./update-region-restore.ts";
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
  operation(api, "getRestore", {
    handle: async ({ db }) => {
      const restore = await findRestore(db);
      const regions = await listRegionRestores(db);
      return reply(200, {
        restore: restore === null ? null : viewRestore(restore),
        regions: regions.map(viewRegionRestore),
      });
    },
  });
  operation(api, "listHeldVms", {
    handle: async (request) => {
      const page = await listHeldVms(request.db, request.query);
      return reply(200, { items: page.rows.map(viewHeldVm), next_cursor: page.nextCursor });
    },
  });
  operation(api, "updateRegionRestore", { find: regionOf, mutate: updateRegionRestore });
  operation(api, "listDrift", {
    handle: async (request) => {
      const page = await listDrift(request.db, request.query);
      return reply(200, { items: page.rows.map(viewDrift), next_cursor: page.nextCursor });
    },
  });
}
