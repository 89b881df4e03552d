import type { X509Certificate } from "node:crypto";

export type OrderedChain =
  | {
      readonly outcome: "ordered";
      /** From the leaf on, each signed by the next. */
      readonly chain: readonly X509Certificate[];
      /** The certificates were given in another order. */
      readonly reordered: boolean;
    }
  /** `place` counts from 0 in what was given. */
  | { readonly outcome: "does-not-belong"; readonly place: number }
  | { readonly outcome: "ambiguous"; readonly place: number };

/**
 * Puts the certificates above a leaf into their order by their signatures. Repetitions are left out. Where two could come next,
 * the one that was given next is taken, and without one the order is ambiguous.
 */
export function orderChain(leaf: X509Certificate, others: readonly X509Certificate[]): OrderedChain {
  const known = new Set([leaf.fingerprint256]);
  const given = others.filter(({ fingerprint256 }) => {
    const isNew = !known.has(fingerprint256);
    known.add(fingerprint256);
    return isNew;
  });
  const left = [...given];
  const chain = [leaf];
  let last = leaf;
  for (let [unplaced] = left; unplaced !== undefined; [unplaced] = left) {
    const issuers = left.filter((candidate) => isIssuedBy(last, candidate));
    const [first] = issuers;
    if (first === undefined) return { outcome: "does-not-belong", place: others.indexOf(unplaced) };
    const next = issuers.length === 1 || first === unplaced ? first : undefined;
    if (next === undefined) return { outcome: "ambiguous", place: others.indexOf(first) };
    chain.push(next);
    left.splice(left.indexOf(next), 1);
    last = next;
  }
  return {
    outcome: "ordered",
    chain,
    reordered: given.some((certificate, index) => certificate !== chain[index + 1]),
  };
}

/** By name and by signature: names alone say what somebody wrote. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false;
  }
}
