import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { loadBalancers } from "./resource.ts";
import { balancerTones } from "./status.ts";

/** The header of a load balancer: its status, and the address at which clients reach it. */
export const headedLoadBalancers: HeadedResource<Schemas["LoadBalancer"]> = {
  resource: loadBalancers,
  headOf: (view, balancer) => {
    const text = view.messages.loadBalancers;
    const address = balancer.public_ip?.address ?? balancer.private_ip;
    return {
      status: <Status tone={balancerTones[balancer.status]}>{text.status[balancer.status]}</Status>,
      lead: [balancer.description, balancer.region].filter((part) => part !== "").join(" · "),
      ...(address === null
        ? {}
        : { copied: [{ id: "load-balancer-address", label: text.address, text: address }] }),
      calls: [{ operation: "getLoadBalancer", path: { load_balancer_id: balancer.id } }],
    };
  },
};
