import type { Problem } from "../../api.ts";
import type { Messages } from "../../messages/messages.ts";

const kinds = [
  ["privateKey", /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----|PuTTY-User-Key-File/i],
  ["otherForm", /-----BEGIN |---- BEGIN /],
  ["several", /[\r\n]/],
  ["dsa", /^ssh-dss\s/],
  ["certificate", /^\S+-cert-v0[01]@openssh\.com\s/],
  // Something precedes the key type.
  ["options", /\s(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+|sk-\S+)\s+AAAA/],
  ["unknownType", /^(?!(ssh-ed25519|ssh-rsa|ecdsa-sha2-|sk-))/],
] as const;

/**
 * The error of a pasted key, for pages in a language other than the API's: the API's code says only that the format
 * is wrong. Decides nothing: it is called after the API has refused the key.
 *
 * @returns undefined where the API's own words are shown
 */
export function keyErrorText(problem: Problem, publicKey: string, messages: Messages): string | undefined {
  const wrong = problem.errors?.find(({ pointer }) => pointer === "/public_key");
  if (messages.locale === "en" || wrong?.code !== "invalid_format") return undefined;
  const kind = kinds.find(([, pattern]) => pattern.test(publicKey))?.[0] ?? "damaged";
  return messages.sshKeys.refusals[kind];
}
