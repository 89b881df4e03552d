import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { checkCreateSshKey, createSshKey } from "./create-ssh-key.ts";
import { deleteSshKey } from "./delete-ssh-key.ts";
import { findSshKey, listSshKeys } from "./store.ts";
import { checkUpdateSshKey, updateSshKey } from "./update-ssh-key.ts";
import { useOfKeys } from "./use.ts";
import { viewSshKey } from "./view.ts";

export function mountSshKeys(api: Api): void {
  const find = (request: ApiRequest<"getSshKey" | "updateSshKey" | "deleteSshKey">) =>
    findSshKey(request.db, request.organisationId, request.pathId("ssh_key_id", "key"));

  operation(api, "listSshKeys", {
    handle: async (request) => {
      const page = await listSshKeys(request.db, request.organisationId, request.query);
      const use = await useOfKeys(
        request,
        request.db,
        page.rows.map(({ id }) => id),
      );
      const items = page.rows.map((key) => viewSshKey(key, use.get(key.id)));
      return reply(200, { items, next_cursor: page.nextCursor });
    },
  });
  operation(api, "createSshKey", { check: checkCreateSshKey, mutate: createSshKey });
  operation(api, "getSshKey", {
    find,
    handle: async (request, key) =>
      reply(200, viewSshKey(key, (await useOfKeys(request, request.db, [key.id])).get(key.id))),
  });
  operation(api, "updateSshKey", { find, check: checkUpdateSshKey, mutate: updateSshKey });
  operation(api, "deleteSshKey", { find, mutate: deleteSshKey });
}
