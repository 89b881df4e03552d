import type { ControlPlaneJobKind } from "./schemas.ts";

const kinds: { readonly [Kind in ControlPlaneJobKind]: true } = { DomainApply: true };

/** The kinds of job that the control plane does itself. */
export const controlPlaneJobKinds = Object.keys(kinds) as readonly ControlPlaneJobKind[];

/** Whether the control plane does jobs of this kind itself: an agent is never given one. */
export function isControlPlaneJobKind(kind: string): kind is ControlPlaneJobKind {
  return Object.hasOwn(kinds, kind);
}
