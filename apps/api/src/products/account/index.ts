/**
 * What other products may import of accounts: people, how they sign in, their sessions, and proofs of who
 * they are.
 */
export {
  findIdentity,
  type IdentityRow,
  insertIdentity,
  noteIdentityUse,
  requireOtherSignInMethod,
  viewProvider,
} from "./identity-store.ts";
export { beginAttempt, beginLogin, countResetRequest } from "./login-limit.ts";
export { doesNotHold, type OidcPerson } from "./oidc-client.ts";
export { beginFlow, type EndedFlow, endFlow, providerCalled } from "./oidc-flow.ts";
export { notLetIn } from "./oidc-refusals.ts";
export { ceremony, shownPasskey } from "./passkey-ceremonies.ts";
export { listPasskeys } from "./passkey-store.ts";
export { passwordErrors } from "./password-errors.ts";
export {
  beginMailedReset,
  beginPasswordReset,
  findForResetMail,
  findPasswordReset,
  queueResetMail,
  type ResetMailTask,
  resetProof,
} from "./password-reset-store.ts";
export { lockPerson, personOf } from "./person.ts";
export { type PersonProof, passwordProof, sessionProof, writePassword } from "./person-proof.ts";
export { requireProof, requireProofOfSession } from "./proof.ts";
export { resetMail } from "./reset-mail.ts";
export { mountAccount } from "./routes.ts";
export {
  deleteRecoveryCodes,
  findSecondFactors,
  hasSecondFactor,
  type SecondFactors,
  secondFactorMethods,
} from "./second-factor-store.ts";
export { issueSession, succeedSession } from "./session-issue-store.ts";
export { userOfSession } from "./session-only.ts";
export { endSignInsOfUser, lastUsedOrganisation, revokeSessionsOfUser } from "./session-store.ts";
export { takeSecondFactor } from "./take-second-factor.ts";
export { revokeTokenRow, revokeTokensMintedBy, revokeTokensOfUser } from "./token-end-store.ts";
export { findUser, findUserByEmail, insertUser, type UserRow } from "./user-store.ts";
export { authenticationOptions } from "./webauthn.ts";
