import type { ApiRequest } from "../../platform/api-request.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { listMemberships } from "./member-store.ts";

/**
 * The organisations of whoever calls. All of them are told to sessions only: a token that a person has minted for one
 * organisation says nothing of the others they belong to.
 */
export async function listMyOrganisations(request: ApiRequest<"listMyOrganisations">): Promise<Reply> {
  const { kind, user, organisation, role } = request.caller;
  const memberships =
    kind === "session" && user !== null
      ? await listMemberships(request.db, user.id)
      : organisation === null || role === null
        ? []
        : [{ ...organisation, role }];
  const items = memberships.map((each) => ({
    id: each.id,
    slug: each.slug,
    name: each.name,
    role: each.role,
    current: each.id === organisation?.id,
  }));
  return reply(200, { items, next_cursor: null });
}
