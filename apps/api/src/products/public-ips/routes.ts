import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { attachPublicIp, checkAttachPublicIp } from "./attach-public-ip.ts";
import { checkCreatePublicIp, createPublicIp } from "./create-public-ip.ts";
import { deletePublicIp } from "./delete-public-ip.ts";
import { detachPublicIp } from "./detach-public-ip.ts";
import { findPublicIp, listPublicIps, type PublicIpDetails } from "./store.ts";
import { checkUpdatePublicIp, updatePublicIp } from "./update-public-ip.ts";
import { viewPublicIp } from "./view.ts";

export function mountPublicIps(api: Api): void {
  const find = (request: ApiRequest): Promise<PublicIpDetails | null> =>
    findPublicIp(request.db, request.organisationId, request.pathId("public_ip_id", "ip"));

  operation(api, "listPublicIps", {
    handle: async (request) => {
      const page = await listPublicIps(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewPublicIp), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createPublicIp", { check: checkCreatePublicIp, mutate: createPublicIp });
  operation(api, "getPublicIp", { find, handle: async (_request, ip) => reply(200, viewPublicIp(ip)) });
  operation(api, "updatePublicIp", { find, check: checkUpdatePublicIp, mutate: updatePublicIp });
  operation(api, "deletePublicIp", { find, mutate: deletePublicIp });
  operation(api, "attachPublicIp", { find, check: checkAttachPublicIp, mutate: attachPublicIp });
  operation(api, "detachPublicIp", { find, mutate: detachPublicIp });
}
