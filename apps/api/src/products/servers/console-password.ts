import { randomBytes, randomInt } from "node:crypto";
import { sealSecret } from "@kule/sealed-secret/sealed-secret";
import { encrypt } from "unixcrypt";

/** Without characters that are mistaken for one another when they are copied from a screen. */
const groups = ["ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnpqrstuvwxyz", "23456789"] as const;
const length = 20;

/** A password of 20 characters with upper-case letters, lower-case letters and digits, as Windows demands. */
export function makeConsolePassword(): string {
  const alphabet = groups.join("");
  for (;;) {
    const password = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
    if (groups.every((group) => [...group].some((character) => password.includes(character))))
      return password;
  }
}

/** The only form in which a console password is ever stored. */
export type StoredPassword = {
  readonly password_hash: string | null;
  readonly sealed_password: string | null;
};

const saltAlphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * The `$6$` crypt hash for a Linux guest, with the fewest rounds that the format allows: rounds slow down
 * guessing of weak passwords, but 114 random bits cannot be guessed, and each 1,000 rounds block this process
 * for over a millisecond.
 */
export function hashForLinux(password: string): StoredPassword {
  const salt = Array.from(randomBytes(16), (byte) => saltAlphabet[byte % 64]).join("");
  return { password_hash: encrypt(password, `$6$rounds=1000$${salt}`), sealed_password: null };
}

/** Sealed so that only the region's agent can read it, and only as this server's. */
export function sealForWindows(password: string, agentPublicKey: string, serverId: string): StoredPassword {
  return { password_hash: null, sealed_password: sealSecret(agentPublicKey, password, serverId) };
}
