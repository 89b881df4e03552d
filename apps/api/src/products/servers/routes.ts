import type { ApiRequest } from "../../platform/api-request.ts";
import { requirePermissions } from "../../platform/authorise.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { cancelServerDeletion } from "./cancel-server-deletion.ts";
import { createServer } from "./create-server.ts";
import { deleteServer } from "./delete-server.ts";
import type { ServerHooks } from "./hooks.ts";
import { checkImportServer, importServer } from "./import-server.ts";
import { lockServer, unlockServer } from "./lock-server.ts";
import { checkCreateServer } from "./placement.ts";
import { checkPowerServer, powerServer } from "./power-server.ts";
import { checkRebuildServer, rebuildServer } from "./rebuild-server.ts";
import { reconcileServer } from "./reconcile-server.ts";
import { checkResetServerPassword, resetServerPassword } from "./reset-server-password.ts";
import { checkResizeServer, resizeServer } from "./resize-server.ts";
import { findServer, listServers } from "./store.ts";
import { checkUpdateServer, updateServer } from "./update-server.ts";
import { viewServer } from "./view.ts";

export function mountServers(api: Api, hooks: readonly ServerHooks[]): void {
  const find = (
    request: ApiRequest<
      | "getServer"
      | "updateServer"
      | "deleteServer"
      | "cancelServerDeletion"
      | "powerServer"
      | "resizeServer"
      | "rebuildServer"
      | "resetServerPassword"
      | "lockServer"
      | "unlockServer"
      | "reconcileServer"
    >,
  ) => findServer(request.db, request.organisationId, request.pathId("server_id", "srv"));

  operation(api, "listServers", {
    handle: async (request) => {
      const page = await listServers(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewServer), next_cursor: page.nextCursor });
    },
  });
  operation(api, "importServer", {
    check: (request, body) => checkImportServer(request, body, hooks),
    mutate: (request, tx) => importServer(request, tx, hooks),
  });
  operation(api, "createServer", {
    check: (request, body) => checkCreateServer(request, body, hooks),
    mutate: (request, tx) => createServer(request, tx, hooks),
  });
  operation(api, "getServer", { find, handle: async (_request, server) => reply(200, viewServer(server)) });
  operation(api, "updateServer", { find, check: checkUpdateServer, mutate: updateServer });
  operation(api, "deleteServer", {
    find: (request) => {
      // The permission is checked before whether the server exists.
      if (request.context.req.query("purge") === "true") requirePermissions(request, ["server:purge"]);
      return find(request);
    },
    mutate: deleteServer,
  });
  operation(api, "cancelServerDeletion", {
    find,
    mutate: (request, tx, server) => cancelServerDeletion(request, tx, server, hooks),
  });
  operation(api, "powerServer", { find, check: checkPowerServer, mutate: powerServer });
  operation(api, "resizeServer", { find, check: checkResizeServer, mutate: resizeServer });
  operation(api, "rebuildServer", { find, check: checkRebuildServer, mutate: rebuildServer });
  operation(api, "resetServerPassword", {
    find,
    check: checkResetServerPassword,
    mutate: resetServerPassword,
  });
  operation(api, "reconcileServer", { find, mutate: reconcileServer });
  operation(api, "lockServer", { find, mutate: lockServer });
  operation(api, "unlockServer", { find, mutate: unlockServer });
}
