/** What other products may use of the SSH keys. */
export { findSshKeys } from "./store.ts";
