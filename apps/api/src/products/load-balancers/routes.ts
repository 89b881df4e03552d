import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import type { ServerHooks } from "../servers/index.ts";
import { applyLoadBalancer } from "./apply-load-balancer.ts";
import { checkCreateLoadBalancer, createLoadBalancer } from "./create-load-balancer.ts";
import { deleteLoadBalancer } from "./delete-load-balancer.ts";
import { readHealth } from "./health.ts";
import { findListener, listListeners, viewListener } from "./listener-store.ts";
import {
  checkCreateListener,
  checkUpdateListener,
  createListener,
  deleteListener,
  type ListenerOfLoadBalancer,
  updateListener,
} from "./listeners.ts";
import { readMetrics } from "./metrics.ts";
import { checkResizeLoadBalancer, resizeLoadBalancer } from "./resize-load-balancer.ts";
import { findLoadBalancer, type LoadBalancerDetails, listLoadBalancers } from "./store.ts";
import { findTarget, listTargets, viewTarget } from "./target-store.ts";
import {
  checkCreateTarget,
  checkUpdateTarget,
  createTarget,
  deleteTarget,
  type TargetOfLoadBalancer,
  updateTarget,
} from "./targets.ts";
import { checkUpdateLoadBalancer, updateLoadBalancer } from "./update-load-balancer.ts";
import { viewLoadBalancer } from "./view.ts";

export function mountLoadBalancers(api: Api, hooks: readonly ServerHooks[]): void {
  const find = (request: ApiRequest): Promise<LoadBalancerDetails | null> =>
    findLoadBalancer(request.db, request.organisationId, request.pathId("load_balancer_id", "lb"));
  const findOwnListener = async (request: ApiRequest): Promise<ListenerOfLoadBalancer | null> => {
    const id = request.pathId("listener_id", "lsn");
    const loadBalancer = await find(request);
    if (loadBalancer === null) return null;
    const listener = await findListener(request.db, request.organisationId, loadBalancer.id, id);
    return listener === null ? null : { loadBalancer, listener };
  };
  const findOwnTarget = async (request: ApiRequest): Promise<TargetOfLoadBalancer | null> => {
    const id = request.pathId("target_id", "tgt");
    const loadBalancer = await find(request);
    if (loadBalancer === null) return null;
    const target = await findTarget(request.db, request.organisationId, loadBalancer.id, id);
    return target === null ? null : { loadBalancer, target };
  };

  operation(api, "listLoadBalancers", {
    handle: async (request) => {
      const page = await listLoadBalancers(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewLoadBalancer), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createLoadBalancer", {
    check: checkCreateLoadBalancer,
    mutate: (request, tx) => createLoadBalancer(request, tx, hooks),
  });
  operation(api, "getLoadBalancer", {
    find,
    handle: async (_request, row) => reply(200, viewLoadBalancer(row)),
  });
  operation(api, "updateLoadBalancer", { find, check: checkUpdateLoadBalancer, mutate: updateLoadBalancer });
  operation(api, "deleteLoadBalancer", { find, mutate: deleteLoadBalancer });
  operation(api, "applyLoadBalancer", {
    find,
    mutate: (request, tx, found) => applyLoadBalancer(request, tx, found, hooks),
  });
  operation(api, "resizeLoadBalancer", { find, check: checkResizeLoadBalancer, mutate: resizeLoadBalancer });
  operation(api, "getLoadBalancerHealth", { find, handle: readHealth });
  operation(api, "getLoadBalancerMetrics", { find, handle: readMetrics });
  operation(api, "listListeners", {
    find,
    handle: async (request, { id }) => {
      const page = await listListeners(request.db, request.organisationId, id, request.query);
      return reply(200, { items: page.rows.map(viewListener), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createListener", { find, check: checkCreateListener, mutate: createListener });
  operation(api, "getListener", {
    find: findOwnListener,
    handle: async (_request, { listener }) => reply(200, viewListener(listener)),
  });
  operation(api, "updateListener", {
    find: findOwnListener,
    check: checkUpdateListener,
    mutate: updateListener,
  });
  operation(api, "deleteListener", { find: findOwnListener, mutate: deleteListener });
  operation(api, "listTargets", {
    find,
    handle: async (request, { id }) => {
      const page = await listTargets(request.db, request.organisationId, id, request.query);
      return reply(200, { items: page.rows.map(viewTarget), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createTarget", { find, check: checkCreateTarget, mutate: createTarget });
  operation(api, "updateTarget", { find: findOwnTarget, check: checkUpdateTarget, mutate: updateTarget });
  operation(api, "deleteTarget", { find: findOwnTarget, mutate: deleteTarget });
}
