import type { ControlPlaneJobKind } from "./schemas.ts";

const kinds: { readonly [Kind in ControlPlaneJobKind]: true } = { DomainApply: true };

/** Whether the control plane does jobs of this kind itself: an agent is never given one. */
export function isControlPlaneJobKind(kind: string): kind is ControlPlaneJobKind {
  return Object.hasOwn(kinds, kind);
}
