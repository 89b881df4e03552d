import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { checkCreateToken, createToken } from "./create-token.ts";
import { endToken, replaceToken } from "./end-token.ts";
import { entryErrors } from "./operators-entry.ts";
import { findToken, listTokens, type TokenOwner } from "./store.ts";
import { viewToken } from "./view.ts";

export function mountTokens(api: Api): void {
  const organisation = "optional";
  const find = (request: ApiRequest<"getToken" | "revokeToken" | "rotateToken">) =>
    findToken(request.db, ownerOf(request), request.pathId("token_id", "tok"));

  operation(api, "listTokens", {
    organisation,
    handle: async (request) => {
      const page = await listTokens(request.db, ownerOf(request), request.query);
      return reply(200, { items: page.rows.map(viewToken), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createToken", { organisation, check: checkCreateToken, mutate: createToken });
  operation(api, "getToken", {
    organisation,
    find,
    handle: async (_request, token) => reply(200, viewToken(token)),
  });
  operation(api, "revokeToken", {
    organisation,
    find,
    handle: (request, token) => endToken(request, ownerOf(request), token.id),
  });
  operation(api, "rotateToken", {
    organisation,
    find,
    check: entryErrors,
    handle: (request, token) =>
      replaceToken(request, ownerOf(request), token.id, request.body.overlap_seconds ?? 0, request.body),
  });
}

/** The owner of the tokens: the acting organisation, or the operators when there is none. */
function ownerOf(request: ApiRequest): TokenOwner {
  const organisation = request.organisationOrNull;
  return organisation === null
    ? { kind: "operator" }
    : { kind: "organisation", organisationId: organisation.id };
}
