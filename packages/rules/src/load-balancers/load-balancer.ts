import { inField, type Problem, ProblemList, type Problems } from "../domains/problem.ts";
import { maxListeners, maxTargets } from "./limits.ts";
import { type ListenerRequest, type ListenerRule, listenerProblems } from "./listener.ts";
import { type TargetNetwork, type TargetRequest, type TargetRule, targetProblems } from "./target.ts";

export type LoadBalancerRule =
  | ListenerRule
  | TargetRule
  | "too_many_listeners"
  | "port_twice"
  | "redirect_without_https"
  | "too_many_targets"
  | "target_twice";

export type LoadBalancerChecking =
  | { readonly ok: true }
  | ({ readonly ok: false } & Problems<Problem<LoadBalancerRule>>);

/** All that is wrong with listeners and targets, each for itself and together; fields such as `/listeners/2/port`. */
export function checkLoadBalancer(
  request: { readonly listeners: readonly ListenerRequest[]; readonly targets: readonly TargetRequest[] },
  network: TargetNetwork,
): LoadBalancerChecking {
  const { listeners, targets } = request;
  const problems = new ProblemList<Problem<LoadBalancerRule>>();
  if (listeners.length > maxListeners) problems.add(tooMany("listeners", listeners.length, maxListeners));
  if (targets.length > maxTargets) problems.add(tooMany("targets", targets.length, maxTargets));
  // A list that is too long is not read: it may be as long as a body can be.
  for (const [index, listener] of listeners.slice(0, maxListeners).entries())
    problems.add(...listenerProblems(listener, `/listeners/${index}`));
  problems.add(...listenersTogetherProblems(listeners.slice(0, maxListeners)));
  for (const [index, target] of targets.slice(0, maxTargets).entries())
    problems.add(...targetProblems(target, network, `/targets/${index}`));
  problems.add(...targetsTogetherProblems(targets.slice(0, maxTargets)));
  return problems.isEmpty ? { ok: true } : problems.refusal();
}

function tooMany(name: "listeners" | "targets", count: number, max: number): Problem<LoadBalancerRule> {
  return inField(`/${name}`, {
    rule: name === "listeners" ? "too_many_listeners" : "too_many_targets",
    message: `The load balancer would have ${count} ${name}`,
    fix: `Enter at most ${max}${name === "targets" ? "; one label selector can stand for many servers" : ""}`,
  });
}

/** What of a listener matters to the others. */
export type ListenerBesides = Pick<ListenerRequest, "protocol" | "port" | "redirectToHttps">;

/**
 * What is wrong with listeners of one load balancer together.
 *
 * @param at JSON pointer of the list
 */
export function listenersTogetherProblems(
  listeners: readonly ListenerBesides[],
  at = "/listeners",
): Problem<LoadBalancerRule>[] {
  const found: Problem<LoadBalancerRule>[] = [];
  const ports = new Set<number>();
  const hasHttps = listeners.some(({ protocol }) => protocol === "https");
  for (const [index, { port, protocol, redirectToHttps }] of listeners.entries()) {
    if (ports.has(port))
      found.push(
        inField(`${at}/${index}/port`, {
          rule: "port_twice",
          message: `Another listener has port ${port} already`,
          fix: "Enter another port",
        }),
      );
    ports.add(port);
    if (redirectToHttps && protocol === "http" && !hasHttps)
      found.push(
        inField(`${at}/${index}/redirect_to_https`, {
          rule: "redirect_without_https",
          message: "There is no https listener to redirect to",
          fix: "Add an https listener, or set it to false",
        }),
      );
  }
  return found;
}

/** What is wrong with targets of one load balancer together. */
export function targetsTogetherProblems(
  targets: readonly Pick<TargetRequest, "serverId" | "labelSelector" | "address">[],
  at = "/targets",
): Problem<LoadBalancerRule>[] {
  const seen = new Set<string>();
  return targets.flatMap((target, index) => {
    const key = JSON.stringify([target.serverId, target.labelSelector, target.address]);
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    return [
      inField<LoadBalancerRule>(`${at}/${index}`, {
        rule: "target_twice",
        message: "The load balancer has this target already",
        fix: "Leave out one of the two; a weight of 2 gives it twice the connections",
      }),
    ];
  });
}
