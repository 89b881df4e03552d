import type { Refusal } from "../decision.ts";
import { inUse, invalidState, nameTaken, portInUse, quotaExceeded, resourceDeleting } from "../refusals.ts";
import { maxListeners, maxTargets } from "./limits.ts";
import type { ListenerBesides } from "./load-balancer.ts";

/** Edits are accepted in every state but the last: each is a new generation, and one job brings all that wait. */
export function decideChange(loadBalancer: {
  readonly id: string;
  readonly isDeleting: boolean;
}): Refusal<"resource_deleting"> | null {
  return loadBalancer.isDeleting
    ? resourceDeleting("load_balancer_not_deleting", "The load balancer is being deleted", {
        resource: loadBalancer.id,
      })
    : null;
}

export const loadBalancerNameTaken = (name: string, region: string): Refusal<"name_taken"> =>
  nameTaken("load_balancer_name_free", `Region ${region} has a load balancer named ${name}`, {
    fix: "Choose another name",
  });

type NamedListener = ListenerBesides & { readonly id: string };

/**
 * Why a listener cannot become what it is to be beside the others; null: it can.
 *
 * @param others without the one that is changed
 */
export function decideListener(
  listener: ListenerBesides,
  others: readonly NamedListener[],
  loadBalancerId: string,
): Refusal | null {
  if (others.length >= maxListeners)
    return quotaExceeded(
      "load_balancer_has_listener_room",
      `A load balancer has at most ${maxListeners} listeners`,
      {
        resource: loadBalancerId,
        fix: "Remove a listener that is not needed",
      },
    );
  const holder = others.find(({ port }) => port === listener.port);
  if (holder !== undefined)
    return portInUse("listener_port_free", `Listener port ${listener.port} is used by ${holder.id}`, {
      resource: holder.id,
      fix: `Choose another port, or DELETE /load-balancers/${loadBalancerId}/listeners/${holder.id}`,
    });
  const hasHttps = [...others, listener].some(({ protocol }) => protocol === "https");
  if (hasHttps) return null;
  const redirecting = others.find(({ redirectToHttps }) => redirectToHttps);
  if (redirecting !== undefined) return redirectedTo(redirecting, loadBalancerId);
  return listener.redirectToHttps
    ? invalidState("https_listener_present", "There is no https listener to redirect to", {
        resource: loadBalancerId,
        fix: `POST /load-balancers/${loadBalancerId}/listeners with the protocol https`,
      })
    : null;
}

/** Why a listener cannot go; null: it can. */
export function decideRemoveListener(
  others: readonly NamedListener[],
  loadBalancerId: string,
): Refusal<"in_use"> | null {
  if (others.some(({ protocol }) => protocol === "https")) return null;
  const redirecting = others.find(({ redirectToHttps }) => redirectToHttps);
  return redirecting === undefined ? null : redirectedTo(redirecting, loadBalancerId);
}

const redirectedTo = ({ id }: NamedListener, loadBalancerId: string): Refusal<"in_use"> =>
  inUse("https_listener_not_needed", `${id} redirects to the only https listener`, {
    resource: id,
    fix: `PATCH /load-balancers/${loadBalancerId}/listeners/${id} {"redirect_to_https":false}`,
  });

/** Why there can be no other target; null: there can. */
export function decideTarget(count: number, loadBalancerId: string): Refusal<"quota_exceeded"> | null {
  return count < maxTargets
    ? null
    : quotaExceeded("load_balancer_has_target_room", `A load balancer has at most ${maxTargets} targets`, {
        resource: loadBalancerId,
        fix: "Remove a target that is not needed; one label selector can stand for many servers",
      });
}
