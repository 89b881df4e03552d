import type { ApiRequest } from "../../platform/api-request.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { listMemberships } from "./store.ts";

/**
 * The caller's organisations. Only sessions get all of them: a token that a person has minted for one
 * organisation must not reveal the others they belong to.
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
