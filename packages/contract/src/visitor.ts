import { createHmac, timingSafeEqual } from "node:crypto";

/*
 * The address of the visitor that the console calls for. Without it all people at the panel would be one
 * address to the API: ten wrong passwords of a stranger would lock out all of them. The address is signed, so
 * that only a holder of the key can state one; the key itself is never sent, and an intercepted header is
 * valid only for its address.
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
