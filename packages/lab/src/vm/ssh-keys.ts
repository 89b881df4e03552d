import { failure } from "../api-error.ts";

const KINDS =
  /^(ssh-(rsa|dss|ed25519)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)$/;

/** True for a line that ssh-keygen -l would take: known type, and a blob that begins with the same type. */
function looksValid(line: string): boolean {
  const words = line.trim().split(/\s+/);
  const at = words.findIndex((word) => KINDS.test(word));
  const kind = words[at] ?? "";
  const blob = Buffer.from(words[at + 1] ?? "", "base64");
  if (at < 0 || blob.length < 4 + kind.length) return false;
  return (
    blob.readUInt32BE(0) === kind.length && blob.subarray(4, 4 + kind.length).toString("latin1") === kind
  );
}

/** Checks the percent-encoded value of `sshkeys` as Proxmox VE does, line by line. */
export function validateSshKeys(encoded: string): void {
  let keys: string;
  try {
    keys = decodeURIComponent(encoded);
  } catch {
    throw failure("SSH public key validation error");
  }
  for (const line of keys.split("\n")) {
    if (!/^\s*(#|$)/.test(line) && !looksValid(line)) throw failure("SSH public key validation error");
  }
}
