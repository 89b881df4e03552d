import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { endMembership } from "./end-membership.ts";
import { memberships, requireStillGrantable } from "./privilege.ts";
import type { MemberRow } from "./store.ts";
import { lockMember, requireAnotherOwner } from "./update-member.ts";

/** Removes a member; their sessions, the tokens they minted here and what they invited to end with it. */
export async function removeMember(request: ApiRequest<"removeMember">, found: MemberRow): Promise<Reply> {
  const answer = await mutation(request, (tx) => remove(request, tx, found.id));
  request.deps.tokens.dropCallers();
  return answer;
}

async function remove(request: ApiRequest<"removeMember">, tx: Tx, id: string): Promise<Outcome> {
  const { organisationId } = request;
  const member = await lockMember(tx, organisationId, id);
  await requireStillGrantable(request, tx, ...memberships(member.role));
  if (member.role === "owner") await requireAnotherOwner(tx, organisationId, id);
  return { reply: noContent(), resource: id, details: await endMembership(tx, member) };
}
