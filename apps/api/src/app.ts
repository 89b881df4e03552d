import { operations } from "@kule/contract/generated/operations";
import { type Context, Hono } from "hono";
import { mountAgent } from "./agent/routes.ts";
import type { Api, Deps } from "./platform/deps.ts";
import { MethodNotAllowed, NotFound } from "./platform/errors.ts";
import { requestIdOf } from "./platform/operation.ts";
import { refusalOf, renderProblem } from "./platform/problem.ts";
import { withoutSlashesAtEnd } from "./platform/slashes-at-end.ts";
import { mountAccount } from "./products/account/index.ts";
import { mountAgentUpdates } from "./products/agent-updates/index.ts";
import { mountAudit } from "./products/audit/index.ts";
import { mountCatalog } from "./products/catalog/index.ts";
import { certificateHooks } from "./products/certificate-hooks.ts";
import { mountCertificates } from "./products/certificates/index.ts";
import { mountConsoles } from "./products/consoles/index.ts";
import { mountDomains } from "./products/domains/index.ts";
import { mountFirewalls } from "./products/firewalls/index.ts";
import { mountGateways } from "./products/gateways/index.ts";
import { mountInvariants } from "./products/invariants/index.ts";
import { mountInventory } from "./products/inventory/index.ts";
import { mountIpPools } from "./products/ip-pools/index.ts";
import { jobHandlers } from "./products/job-handlers.ts";
import { mountJobs } from "./products/jobs/index.ts";
import { mountLoadBalancers } from "./products/load-balancers/index.ts";
import { mountMembers } from "./products/members/index.ts";
import { mountMeta } from "./products/meta/index.ts";
import { networkHooks } from "./products/network-hooks.ts";
import { mountNetworks } from "./products/networks/index.ts";
import { mountOrganisations } from "./products/organisations/index.ts";
import { mountPublicIps } from "./products/public-ips/index.ts";
import { mountQuotas } from "./products/quotas/index.ts";
import { mountReachability } from "./products/reachability/index.ts";
import { mountRegions } from "./products/regions/index.ts";
import { serverHooks } from "./products/server-hooks.ts";
import { mountServers } from "./products/servers/index.ts";
import { mountSignIn } from "./products/sign-in/index.ts";
import { mountSshKeys } from "./products/ssh-keys/index.ts";
import { mountTokens } from "./products/tokens/index.ts";
import { mountUsage } from "./products/usage/index.ts";

export const apiRoot = "/api/v1";

/** The whole API over these dependencies; tests call `request` on it, main.ts serves it. */
export function createApp(deps: Deps): Hono {
  const app = new Hono({ strict: false });
  if (deps.settings.testBuild) app.use(refuseUncheckedRoutes);
  const api: Api = { hono: app.basePath(apiRoot) as Hono, deps };
  mountMeta(api);
  mountSignIn(api);
  mountAccount(api);
  mountOrganisations(api);
  mountMembers(api);
  mountTokens(api);
  mountAudit(api);
  mountCatalog(api);
  mountRegions(api);
  mountAgentUpdates(api);
  mountSshKeys(api);
  mountNetworks(api, networkHooks);
  mountReachability(api);
  mountFirewalls(api);
  mountGateways(api);
  mountIpPools(api);
  mountPublicIps(api);
  mountServers(api, serverHooks);
  mountConsoles(api);
  mountDomains(api);
  mountCertificates(api, certificateHooks);
  mountLoadBalancers(api, serverHooks);
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
