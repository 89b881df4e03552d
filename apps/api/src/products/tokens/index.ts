/** What other products may import of tokens. */
export { endToken, replaceToken } from "./end-token.ts";
export { mountTokens } from "./routes.ts";
export { findToken, issueToken, listTokens } from "./store.ts";
export { viewToken } from "./view.ts";
