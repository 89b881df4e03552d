import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { answerUnchanged } from "./answer-unchanged.ts";
import { SessionEnded } from "./api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "./console-context.ts";
import { answerFailure, broken, notFound, tooLarge } from "./failures.tsx";
import type { Log } from "./log.ts";
import { countedFetch } from "./metrics.ts";
import { accountRoutes } from "./products/account/routes.tsx";
import { agentUpdatesRoutes } from "./products/agent-updates/routes.tsx";
import { auditRoutes } from "./products/audit/routes.tsx";
import { certificateRoutes } from "./products/certificates/routes.tsx";
import { consoleRoutes } from "./products/consoles/routes.tsx";
import { domainRoutes } from "./products/domains/routes.tsx";
import { firewallRoutes } from "./products/firewalls/routes.tsx";
import { gatewayRoutes } from "./products/gateways/routes.tsx";
import { ipPoolRoutes } from "./products/ip-pools/routes.tsx";
import { jobRoutes } from "./products/jobs/routes.tsx";
import { loadBalancerRoutes } from "./products/load-balancers/routes.tsx";
import { joinRoutes } from "./products/members/join-routes.tsx";
import { memberRoutes } from "./products/members/routes.tsx";
import { networkRoutes } from "./products/networks/routes.tsx";
import { operatorRoutes } from "./products/operator/routes.tsx";
import { organisationRoutes } from "./products/organisations/routes.tsx";
import { switchRoutes } from "./products/organisations/switch-routes.tsx";
import { publicIpRoutes } from "./products/public-ips/routes.tsx";
import { quotaRoutes } from "./products/quotas/routes.tsx";
import { resourceRoutes } from "./products/resources/routes.tsx";
import { searchRoutes } from "./products/search/routes.tsx";
import { serverRoutes } from "./products/servers/routes.tsx";
import { passwordResetRoutes } from "./products/sign-in/password-reset-routes.tsx";
import { signInRoutes } from "./products/sign-in/routes.tsx";
import { sshKeyRoutes } from "./products/ssh-keys/routes.tsx";
import { tokenRoutes } from "./products/tokens/routes.tsx";
import { usageRoutes } from "./products/usage/routes.tsx";
import { guardRequest, readVisitor } from "./request-guard.ts";
import { firstPage } from "./session.ts";

const maxFormBytes = 128 * 1024;
/** A zone file of the API's longest, with its line ends and quotes encoded. Only for people who are signed in. */
const maxZoneFileFormBytes = 3 * 1024 * 1024;
const zoneFileForms = /^\/domains\/(new|[^/]+\/import(\/apply)?)$/;
/** A certificate, a chain and a key of the API's longest. Only for people who are signed in. */
const maxPemFormBytes = 1024 * 1024;
const pemForms = /^\/certificates\/(new|[^/]+\/material)$/;

/** The console as one request handler. */
export function createConsole(services: ConsoleServices, log: Log): Hono<ConsoleEnv> {
  const { cookies, assets, metrics } = services;
  const app = new Hono<ConsoleEnv>();
  const sendToApi = countedFetch(metrics);

  app.use(async (context, next) => {
    const startedAt = performance.now();
    const answered = metrics.beginRequest(context.req.method);
    context.set("requestId", crypto.randomUUID());
    context.set("sendToApi", sendToApi);
    await next();
    answered(context.res.status);
    context.header("x-request-id", context.get("requestId"));
    // Only the path: queries may contain user input.
    log("request", {
      request_id: context.get("requestId"),
      method: context.req.method,
      path: context.req.path,
      status: context.res.status,
      ms: Math.round(performance.now() - startedAt),
    });
  });
  // Not under the headers of every page: this route widens the policy for one page.
  app.use(async (context, next) => {
    await next();
    const origin = context.get("socketOrigin");
    const policy = context.res.headers.get("content-security-policy");
    if (origin === undefined || policy === null) return;
    context.header(
      "content-security-policy",
      policy.replace("connect-src 'self'", `connect-src 'self' ${origin}`),
    );
  });
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        // No source is permitted by default, not even our own; the page names each file.
        scriptSrc: [NONCE],
        styleSrc: [NONCE],
        fontSrc: ["'self'"],
        imgSrc: ["'self'", "data:"],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
      xFrameOptions: "DENY",
      // `no-referrer` would make browsers send `Origin: null` with our own forms.
      referrerPolicy: "same-origin",
      strictTransportSecurity: cookies.secure ? "max-age=31536000" : false,
    }),
  );

  app.get("/healthz", (context) =>
    services.stop?.hasBegun ? context.json({ status: "stopping" }, 503) : context.json({ status: "ok" }),
  );
  app.get("/assets/:name", assets.handler);

  // Pages of lists are polled. The secret of each form differs with every answer, so sizes tell nothing about it.
  app.use(compress({ encoding: "gzip" }));
  app.use(answerUnchanged);
  app.use(readVisitor(services));
  const limitedTo = (maxSize: number) =>
    bodyLimit({ maxSize, onError: (context) => tooLarge(context as ConsoleContext) });
  const limit = limitedTo(maxFormBytes);
  const longForms = [
    { paths: zoneFileForms, limit: limitedTo(maxZoneFileFormBytes) },
    { paths: pemForms, limit: limitedTo(maxPemFormBytes) },
  ];
  app.use((context, next) => {
    const long =
      context.get("session") === null
        ? undefined
        : longForms.find(({ paths }) => paths.test(context.req.path));
    return (long?.limit ?? limit)(context, next);
  });
  app.use(guardRequest);

  app.get("/", (context) => context.redirect(firstPage(context.get("session")), 303));
  app.route("/", signInRoutes(services));
  app.route("/", joinRoutes(services));
  app.route("/", passwordResetRoutes(services));
  app.route("/", memberRoutes(services));
  app.route("/", tokenRoutes(services));
  app.route("/", auditRoutes(services));
  app.route("/", quotaRoutes());
  app.route("/", switchRoutes(services));
  app.route("/", accountRoutes(services));
  app.route("/", organisationRoutes(services));
  // Before the products, whose routes treat every other path below a resource as a form's address.
  app.route("/", resourceRoutes());
  app.route("/", serverRoutes(services));
  app.route("/", consoleRoutes(services));
  app.route("/", sshKeyRoutes());
  app.route("/operator/agent-updates", agentUpdatesRoutes());
  app.route("/", operatorRoutes(services));
  app.route("/", networkRoutes());
  app.route("/", firewallRoutes());
  app.route("/", gatewayRoutes());
  app.route("/", loadBalancerRoutes());
  app.route("/", publicIpRoutes());
  app.route("/", domainRoutes());
  app.route("/", certificateRoutes());
  app.route("/", ipPoolRoutes());
  app.route("/", jobRoutes(services));
  app.route("/", usageRoutes());
  app.route("/", searchRoutes());

  app.notFound((context) => notFound(context));
  app.onError((error, context) => {
    const answer = answerFailure(error, context);
    if (error instanceof SessionEnded) cookies.clearSession(context);
    if (answer !== null) return answer;
    log("error", {
      request_id: context.get("requestId"),
      path: context.req.path,
      error: error.name,
      message: error.message,
      stack: error.stack,
    });
    return broken(context);
  });
  return app;
}
