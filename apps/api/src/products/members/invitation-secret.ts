import { newIdBody } from "../../platform/ids.ts";
import { hasChecksum, hashToken, mintSecret } from "../../platform/tokens.ts";

/*
 * kule_inv_<26 characters of id>_<32 random base62 characters><6 base62 characters of CRC32>: the format of
 * tokens, but not a token: it is valid for the one invitation.
 */
const pattern = /^kule_inv_([0-7][0-9a-hjkmnp-tv-z]{25})_[0-9A-Za-z]{38}$/;

export function mintInvitation(): { readonly id: string; readonly secret: string; readonly hash: Buffer } {
  const id = newIdBody();
  return { id: `inv_${id}`, ...mintSecret("inv", id) };
}

/** The invitation's id and the hash to compare, or null when it cannot be a secret of ours. */
export function parseInvitation(text: string): { readonly id: string; readonly hash: Buffer } | null {
  const id = pattern.exec(text)?.[1];
  return id === undefined || !hasChecksum(text) ? null : { id: `inv_${id}`, hash: hashToken(text) };
}
