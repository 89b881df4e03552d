/**
 * `needs_material`: the region cannot open its key any more, and only its owner has it. `renewing` and `active` are in use;
 * `failed`: it has never had material.
 */
export type CertificateStatus =
  | "pending"
  | "issuing"
  | "active"
  | "renewing"
  | "failed"
  | "expired"
  | "needs_material";

export type CertificateType = "uploaded" | "managed";

export type CertificateFacts = {
  readonly type: CertificateType;
  /** The end of its material, in ms since 1970; null: it has none. */
  readonly notAfterMs: number | null;
  /** The region can open its key. */
  readonly isKeyOpenable: boolean;
  /** Managed: an order is under way at the CA. */
  readonly isOrdering: boolean;
  /** Managed: attempts that have failed since the last that succeeded. */
  readonly failedAttempts: number;
};

/**
 * The status by what is known, so that no event can be missed. What can be used comes first: a renewal that fails leaves
 * the certificate `active` until it expires.
 */
export function certificateStatus(facts: CertificateFacts, nowMs: number): CertificateStatus {
  const { type, notAfterMs, isKeyOpenable, isOrdering, failedAttempts } = facts;
  if (notAfterMs === null) {
    if (type === "uploaded") return "needs_material";
    if (isOrdering) return "issuing";
    return failedAttempts > 0 ? "failed" : "pending";
  }
  // A managed one is issued anew with a new key.
  if (!isKeyOpenable && type === "uploaded") return "needs_material";
  if (!isKeyOpenable) return isOrdering ? "issuing" : failedAttempts > 0 ? "failed" : "pending";
  if (nowMs >= notAfterMs) return "expired";
  return isOrdering ? "renewing" : "active";
}

/** A key that the region cannot open any more makes of a managed certificate what it was before it had material. */
const transitions: { readonly [from in CertificateStatus]: readonly CertificateStatus[] } = {
  pending: ["issuing", "failed"],
  issuing: ["active", "failed", "pending"],
  active: ["renewing", "expired", "needs_material", "pending", "failed"],
  renewing: ["active", "expired", "issuing"],
  failed: ["issuing"],
  // An order can succeed after the end.
  expired: ["active", "needs_material", "issuing", "pending", "failed"],
  needs_material: ["active"],
};

/** Whether one can follow the other; the same one always can. */
export const canFollow = (from: CertificateStatus, to: CertificateStatus): boolean =>
  from === to || transitions[from].includes(to);

/** Whether it can be given to clients now. */
export const isUsable = (status: CertificateStatus): boolean => status === "active" || status === "renewing";
