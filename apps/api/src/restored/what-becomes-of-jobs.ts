import type { JobKind } from "@kule/contract/schemas";

/**
 * What becomes of a job that is open in a restored backup. It may have been done since the moment of the backup, and what
 * came after it is not known.
 *
 * - `again`: it brings the region to what is wanted now, however often it is done.
 * - `waits`: it destroys. It waits until an operator has worked through what differs.
 * - `ends`: done again it could undo what came after it: restart a guest, replace its disk or its password, give it an
 *   address that is another's by now. Its resource can be asked for it again.
 */
const whatBecomes: { readonly [kind in JobKind]: "again" | "waits" | "ends" } = {
  ServerCreate: "again",
  ServerAdopt: "again",
  ServerRestore: "again",
  FirewallApply: "again",
  NetworkApply: "again",
  LoadBalancerApply: "again",
  DomainApply: "again",
  CertificateRequest: "again",
  ServerDestroy: "waits",
  ServerStop: "ends",
  ServerPower: "ends",
  ServerResize: "ends",
  ServerRebuild: "ends",
  ServerPasswordReset: "ends",
  ServerUpdate: "ends",
  ServerReconcile: "ends",
  PublicIpAttach: "ends",
  PublicIpDetach: "ends",
};

/** A kind that this build does not know was written by a newer one. */
export const endsByRestore = (kind: string): boolean =>
  (Object.hasOwn(whatBecomes, kind) ? whatBecomes[kind as JobKind] : "ends") === "ends";
