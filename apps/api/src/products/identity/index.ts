/** What other products and commands may use of identity. */
export { endToken, replaceToken } from "./end-token.ts";
export { forgetOldInvitations } from "./invitation-store.ts";
export { findUserByEmail, insertMember, insertUser, listMemberships } from "./member-store.ts";
export {
  findOrganisation,
  findOrganisationBySlug,
  insertOrganisation,
  lockOrganisation,
  type OrganisationRow,
  unknownOrganisations,
  updateOrganisationRow,
} from "./organisation-store.ts";
export { beginMailedReset, findForResetMail, type ResetMailTask } from "./password-reset-store.ts";
export { passwordProof } from "./person-proof.ts";
export { requireProofOfSession } from "./proof.ts";
export { resetMail } from "./reset-mail.ts";
export { findToken, issueToken, listTokens } from "./token-store.ts";
export { viewToken } from "./view.ts";
