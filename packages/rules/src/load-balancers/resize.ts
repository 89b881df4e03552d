import type { Refusal } from "../decision.ts";
import { invalidState } from "../refusals.ts";

/** A machine as far as it decides when it is resized. */
export type ResizedMachine = {
  readonly slot: 1 | 2;
  /** Its server has the package that is wanted. */
  readonly hasPackage: boolean;
  /** Its server is there, and neither being made, resized nor destroyed. */
  readonly isIdle: boolean;
  /** It answers, and has done so since it was restarted last. */
  readonly isServing: boolean;
  readonly role: "active" | "standby" | null;
};

/**
 * The slot whose machine is resized now, or null: it is nobody's turn, or all have the package.
 *
 * A resize restarts the machine, so of two only one is resized at a time, while the other one serves, and the one with the
 * address comes last. While roles are not known that is the first: it takes the address when both begin.
 */
export function nextToResize(machines: readonly ResizedMachine[]): 1 | 2 | null {
  if (machines.some(({ isIdle }) => !isIdle)) return null;
  const [next] = machines
    .filter(({ hasPackage }) => !hasPackage)
    .filter(({ slot }) => machines.every((other) => other.slot === slot || other.isServing))
    .toSorted((one, other) => rank(one) - rank(other) || other.slot - one.slot);
  return next?.slot ?? null;
}

const rank = ({ role }: ResizedMachine): number => (role === "standby" ? 0 : role === null ? 1 : 2);

/** Why the load balancer cannot be resized to the package; null: it can. Again to the same one goes on after a failure. */
export function decideResize(loadBalancer: {
  readonly id: string;
  readonly package: string;
  readonly to: string;
  /** Its machines all have the package that it is to have now. */
  readonly isResized: boolean;
}): Refusal<"invalid_state"> | null {
  const { id, to, isResized } = loadBalancer;
  return loadBalancer.package === to && isResized
    ? invalidState("package_differs", `The load balancer has package ${to} already`, {
        resource: id,
        fix: "Choose another package",
      })
    : null;
}

/** How far the machines are with the package that is wanted. */
export type ResizeState =
  /** All have it. */
  | "none"
  | "ongoing"
  /** The next one cannot be resized now, for want of room or quota. */
  | "waiting"
  /** A machine could not be resized, and no other one is until it is asked for again. */
  | "failed";
