import { operations } from "@kule/contract/generated/operations";
import { type Context, Hono } from "hono";
import { mountAgent } from "./agent/routes.ts";
import type { Api, Deps } from "./platform/deps.ts";
import { MethodNotAllowed, NotFound } from "./platform/errors.ts";
import { requestIdOf } from "./platform/operation.ts";
import { refusalOf, renderProblem } from "./platform/problem.ts";
import { withoutSlashesAtEnd } from "./platform/slashes-at-end.ts";
import { mountCatalog } from "./products/catalog/routes.ts";
import { mountConsoles } from "./products/consoles/routes.ts";
import { mountFirewalls } from "./products/firewalls/routes.ts";
import { mountGateways } from "./products/gateways/routes.ts";
import { mountIdentity } from "./products/identity/routes.ts";
import { mountInvariants } from "./products/invariants/routes.ts";
import { mountInventory } from "./products/inventory/routes.ts";
import { mountIpPools } from "./products/ip-pools/routes.ts";
import { jobHandlers } from "./products/job-handlers.ts";
import { mountJobs } from "./products/jobs/routes.ts";
import { mountMeta } from "./products/meta/routes.ts";
import { mountNetworks } from "./products/networks/routes.ts";
import { mountPublicIps } from "./products/public-ips/routes.ts";
import { mountQuotas } from "./products/quotas/routes.ts";
import { mountRegions } from "./products/regions/routes.ts";
import { mountServers } from "./products/servers/routes.ts";
import { mountSshKeys } from "./products/ssh-keys/routes.ts";
import { mountUsage } from "./products/usage/routes.ts";

export const apiRoot = "/api/v1";

/** The whole API over these dependencies; tests call `request` on it, main.ts serves it. */
export function createApp(deps: Deps): Hono {
  const app = new Hono({ strict: false });
  if (deps.settings.testBuild) app.use(refuseUncheckedRoutes);
  const api: Api = { hono: app.basePath(apiRoot) as Hono, deps };
  mountMeta(api);
  mountIdentity(api);
  mountCatalog(api);
  mountRegions(api);
  mountSshKeys(api);
  mountNetworks(api);
  mountFirewalls(api);
  mountGateways(api);
  mountIpPools(api);
  mountPublicIps(api);
  mountServers(api);
  mountConsoles(api);
  mountJobs(api, jobHandlers);
  mountUsage(api);
  mountQuotas(api);
  mountInvariants(api);
  mountInventory(api);
  mountAgent(api, jobHandlers);

  app.notFound((context) => problem(context, unknownRoute(context)));
  app.onError((error, context) => {
    if (refusalOf(error) === null)
      deps.log.error({ err: error, path: context.req.path }, "a bug outside of operations");
    return problem(context, error);
  });
  return app;
}

/** 405 when the path is one of the contract's under another method, otherwise 404. */
function unknownRoute(context: Context): MethodNotAllowed | NotFound {
  const path = withoutSlashesAtEnd(context.req.path) || "/";
  const methods = new Set<string>();
  for (const operation of Object.values(operations)) {
    const pattern = `${apiRoot}${operation.path}`.split("/");
    const parts = path.split("/");
    const fits =
      pattern.length === parts.length &&
      pattern.every((part, index) => part === parts[index] || (part.startsWith("{") && parts[index] !== ""));
    if (fits) methods.add(operation.method.toUpperCase());
  }
  if (methods.has("GET")) methods.add("HEAD");
  return methods.size === 0 || methods.has(context.req.method)
    ? new NotFound("no such path")
    : new MethodNotAllowed([...methods]);
}

function problem(context: Context, error: unknown): Response {
  const requestId = requestIdOf(context);
  const { status, headers, body } = renderProblem(error, { requestId, path: context.req.path });
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      ...headers,
      "X-Request-Id": requestId,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    },
  });
}

/** In test builds: an answer that did not come from operation() ran no authorisation check, and throws. */
async function refuseUncheckedRoutes(context: Context, next: () => Promise<void>): Promise<void> {
  await next();
  if (context.res.status < 400 && context.get("operation") === undefined)
    throw new Error(`${context.req.method} ${context.req.path} was answered without an authorisation check`);
}
