import type { CalledOperation } from "../../api-operation.ts";
import type { MembersPageProps } from "./props.ts";

/** The calls of the list of members; withdrawing uses the first open invitation. */
export function membersCalls({ invitations }: MembersPageProps): readonly CalledOperation[] {
  const open = invitations?.items.find(({ status }) => status === "open");
  return [
    { operation: "listMembers" },
    ...(invitations === null ? [] : [{ operation: "listInvitations" } as const]),
    ...(open === undefined
      ? []
      : [{ operation: "revokeInvitation", path: { invitation_id: open.id } } as const]),
  ];
}
