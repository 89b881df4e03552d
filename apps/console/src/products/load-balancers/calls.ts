import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import type { OverviewProps, SettingsProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";

export const exampleListener = { protocol: "tcp", port: 5432 };
export const exampleTarget = { label_selector: "role=web", weight: 1 };

/** The actions of the overview as calls; those on one listener or target use the first one. */
export function overviewCalls({ balancer, listeners, targets }: OverviewProps): readonly CalledOperation[] {
  const path = { load_balancer_id: balancer.id };
  const [listener] = listeners;
  const [target] = targets;
  const ofListener = { ...path, listener_id: listener?.id ?? "lsn_…" };
  const ofTarget = { ...path, target_id: target?.id ?? "tgt_…" };
  return [
    { operation: "getLoadBalancerHealth", path },
    { operation: "getLoadBalancerMetrics", path },
    { operation: "createListener", path, body: exampleListener },
    { operation: "updateListener", path: ofListener, body: { target_port: 8081 } },
    { operation: "deleteListener", path: ofListener },
    { operation: "createTarget", path, body: exampleTarget },
    { operation: "updateTarget", path: ofTarget, body: { drain: true } },
    { operation: "deleteTarget", path: ofTarget },
    { operation: "applyLoadBalancer", path },
  ];
}

/** Its name, description, algorithm, labels, size and deletion as calls. */
export function settingsCalls({ balancer, resize }: SettingsProps): readonly CalledOperation[] {
  return [
    ...Object.values(callsOf(loadBalancers, balancer)),
    {
      operation: "resizeLoadBalancer",
      path: { load_balancer_id: balancer.id },
      body: { package: resize.package },
    },
    { operation: "applyLoadBalancer", path: { load_balancer_id: balancer.id } },
  ];
}
