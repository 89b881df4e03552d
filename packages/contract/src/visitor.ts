import { createHmac, timingSafeEqual } from "node:crypto";

/*
 * For whom the console asks. Without it all people at the panel would be one address to the API: ten wrong passwords of
 * a stranger would keep everybody out. The address is signed, so that nobody but who has the key can be anybody; the key
 * itself never travels, and what was overheard says no more than the address that it came with.
 */

export const visitorHeader = "Kule-Visitor";

/** The header's text for an address. */
export function signedVisitor(key: string, address: string): string {
  return `${address} ${signature(key, address)}`;
}

/** @returns the address, or null when none of the keys has signed it */
export function visitorOf(keys: readonly string[], header: string): string | null {
  const [address = "", signed = "", ...rest] = header.split(" ");
  const given = Buffer.from(signed);
  const isSigned = keys.some((key) => {
    const expected = Buffer.from(signature(key, address));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return isSigned && rest.length === 0 ? address : null;
}

function signature(key: string, address: string): string {
  return createHmac("sha256", key).update(`kule visitor ${address}`).digest("base64url");
}
