/** What other products may use of identity. */
export { endToken, replaceToken } from "./end-token.ts";
export { unknownOrganisations } from "./organisation-store.ts";
export { findToken, issueToken, listTokens } from "./token-store.ts";
export { viewToken } from "./view.ts";
