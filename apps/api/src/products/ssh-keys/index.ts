/** What other products may import of the SSH keys. */
export { mountSshKeys } from "./routes.ts";
export { findSshKeys, noteKeysUsed } from "./store.ts";
