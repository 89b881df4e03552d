/** What other products may import of memberships and invitations. */
export {
  deleteOldInvitations,
  findOffered,
  revokeInvitationsOfToken,
  withdrawnNote,
} from "./invitation-store.ts";
export { actInOrganisationOf, join } from "./join.ts";
export { ceilingOf, requireGrantable, requireRoleWithinReach } from "./privilege.ts";
export { mountMembers } from "./routes.ts";
export { insertMember, listMemberships, type Membership } from "./store.ts";
