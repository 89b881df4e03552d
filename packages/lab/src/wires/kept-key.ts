import { existsSync, readFileSync, writeFileSync } from "node:fs";
import ssh2 from "ssh2";

/** A private key for SSH that is generated once and stored in the file. */
export function keptKey(file: string): string {
  const kept = existsSync(file) ? readFileSync(file, "utf8") : null;
  if (kept !== null && isReadable(kept)) return kept;
  const made = newKey();
  writeFileSync(file, made, { mode: 0o600 });
  return made;
}

/**
 * One of some two hundred keys that ssh2 generates cannot be read again: it takes a zero at the beginning of
 * the public half for padding. A lab with such a key did not start.
 */
export function newKey(): string {
  for (;;) {
    const { private: key } = ssh2.utils.generateKeyPairSync("ed25519", {});
    if (isReadable(key)) return key;
  }
}

export const isReadable = (key: string): boolean => !(ssh2.utils.parseKey(key) instanceof Error);
