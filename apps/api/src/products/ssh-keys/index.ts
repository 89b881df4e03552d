/** What other products may use of the SSH keys. */
export { findSshKeys, type SshKeyRow } from "./store.ts";
