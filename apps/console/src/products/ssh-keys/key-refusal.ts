import type { Problem } from "../../api.ts";
import type { Messages } from "../../messages/messages.ts";

const kinds = [
  ["privateKey", /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----|PuTTY-User-Key-File/i],
  ["otherForm", /-----BEGIN |---- BEGIN /],
  ["several", /[\r\n]/],
  ["dsa", /^ssh-dss\s/],
  ["certificate", /^\S+-cert-v0[01]@openssh\.com\s/],
  // Something stands before the kind.
  ["options", /\s(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+|sk-\S+)\s+AAAA/],
  ["unknownType", /^(?!(ssh-ed25519|ssh-rsa|ecdsa-sha2-|sk-))/],
] as const;

/**
 * What is wrong with a pasted key, for pages in another language than the API's: its code says only that the form is
 * wrong. Decides nothing: it is asked after the API has refused the key.
 *
 * @returns undefined where the API's own words are shown
 */
export function saidOfKey(problem: Problem, publicKey: string, messages: Messages): string | undefined {
  const wrong = problem.errors?.find(({ pointer }) => pointer === "/public_key");
  if (messages.locale === "en" || wrong?.code !== "invalid_format") return undefined;
  const kind = kinds.find(([, pattern]) => pattern.test(publicKey))?.[0] ?? "damaged";
  return messages.sshKeys.refusals[kind];
}
