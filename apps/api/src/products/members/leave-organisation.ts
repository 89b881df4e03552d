import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { personOf } from "../account/index.ts";
import { findOrganisation, lockOrganisation, type OrganisationRow } from "../organisations/index.ts";
import { endMembership } from "./end-membership.ts";
import { findMemberOfUser } from "./store.ts";
import { requireAnotherOwner } from "./update-member.ts";

/** The organisation, if the person belongs to it: another one reads like none. */
export async function findOwnOrganisation(
  request: ApiRequest<"leaveOrganisation">,
): Promise<OrganisationRow | null> {
  const id = request.pathId("organisation_id", "org");
  const member = await findMemberOfUser(request.db, id, personOf(request).id);
  return member === null ? null : findOrganisation(request.db, id);
}

/** Ends the caller's own membership. Every member may leave, except the last owner. */
export async function leaveOrganisation(
  request: ApiRequest<"leaveOrganisation">,
  found: OrganisationRow,
): Promise<Reply> {
  const { id: userId } = personOf(request);
  // Its row-level security and its audit trail, whichever organisation the session is of.
  request.established.organisation = {
    ...found,
    status: found.status === "suspended" ? "suspended" : "active",
  };
  const answer = await mutation(
    request,
    async (tx) => {
      await lockOrganisation(tx, found.id);
      const member = await findMemberOfUser(tx, found.id, userId);
      if (member === null) throw new NotFound();
      if (member.role === "owner") await requireAnotherOwner(tx, found.id, member.id);
      return { reply: noContent(), resource: member.id, details: await endMembership(tx, member) };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}
