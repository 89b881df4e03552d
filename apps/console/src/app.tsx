import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { secureHeaders } from "hono/secure-headers";
import { ApiAway, ApiRefused, clientFor, SessionEnded } from "./api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "./console-context.ts";
import { formTokenField, formTokenHolds, isSameOrigin } from "./csrf.ts";
import { renderPage } from "./layout/document.tsx";
import { ErrorPage } from "./layout/error-page.tsx";
import { createView, isTheme } from "./layout/view.ts";
import type { Log } from "./log.ts";
import { chooseLanguage } from "./messages/messages.ts";
import { jobRoutes } from "./products/jobs/routes.tsx";
import { networkRoutes } from "./products/networks/routes.tsx";
import { serverRoutes } from "./products/servers/routes.tsx";
import { organisationRoutes } from "./products/sign-in/organisations.tsx";
import { signInRoutes } from "./products/sign-in/routes.tsx";
import { sshKeyRoutes } from "./products/ssh-keys/routes.tsx";
import { safeReturnPath } from "./session.ts";

const maxFormBytes = 128 * 1024;
// Reached without a session; everything else asks for one.
const openPaths = new Set(["/sign-in", "/sign-out", "/preferences"]);

/** The console as one request handler. */
export function createConsole(services: ConsoleServices, log: Log): Hono<ConsoleEnv> {
  const { settings, cookies, assets } = services;
  const app = new Hono<ConsoleEnv>();

  app.use(async (context, next) => {
    const startedAt = performance.now();
    context.set("requestId", crypto.randomUUID());
    await next();
    context.header("x-request-id", context.get("requestId"));
    // The path alone: addresses may hold what people typed.
    log("request", {
      request_id: context.get("requestId"),
      method: context.req.method,
      path: context.req.path,
      status: context.res.status,
      ms: Math.round(performance.now() - startedAt),
    });
  });
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
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

  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.get("/assets/:name", assets.handler);

  app.use(bodyLimit({ maxSize: maxFormBytes, onError: (context) => tooLarge(context as ConsoleContext) }));
  app.use(async (context, next) => {
    context.header("cache-control", "no-store");
    const session = await cookies.readSession(context);
    const theme = cookies.readPreference(context, "theme");
    const url = new URL(context.req.url);
    const isSignIn = context.req.path === "/sign-in";
    const formSecret = session === null || isSignIn ? cookies.visitorSecret(context) : session.formSecret;
    context.set("session", session);
    context.set("api", clientFor(settings, session, context.get("requestId")));
    context.set(
      "view",
      createView({
        language: chooseLanguage(
          cookies.readPreference(context, "language"),
          context.req.header("accept-language"),
        ),
        theme: isTheme(theme) ? theme : "system",
        session,
        assets,
        now: new Date(),
        path: context.req.method === "GET" ? url.pathname + url.search : url.pathname,
        requestId: context.get("requestId"),
        apiUrl: settings.apiUrl,
        formSecret,
      }),
    );
    if (!openPaths.has(context.req.path)) {
      if (session === null) throw new SessionEnded();
      if (session.operator && session.organisation === null && context.req.path !== "/organisations")
        return context.redirect("/organisations", 303);
    }
    if (context.req.method === "GET" || context.req.method === "HEAD") return next();

    const sameOrigin = isSameOrigin(context.req.header(), context.req.header("host") ?? "");
    const form = new URLSearchParams(await context.req.text());
    if (!sameOrigin || !formTokenHolds(formSecret, form.get(formTokenField))) return badForm(context);
    form.delete(formTokenField);
    context.set("form", form);
    return next();
  });

  app.get("/", (context) => context.redirect("/servers", 303));
  app.route("/", signInRoutes(services));
  app.route("/", organisationRoutes(services));
  app.route("/", serverRoutes(services));
  app.route("/", sshKeyRoutes());
  app.route("/", networkRoutes());
  app.route("/", jobRoutes(services));

  app.notFound((context) => notFound(context));
  app.onError((error, context) => {
    if (error instanceof SessionEnded) {
      cookies.clearSession(context);
      return toSignIn(context);
    }
    if (error instanceof ApiAway) return away(context);
    if (error instanceof ApiRefused && error.problem.status === 404) return notFound(context);
    if (error instanceof ApiRefused && error.problem.status === 403)
      return forbidden(context, error.problem.required ?? []);
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

/** To the sign-in page, which leads back to where the person was. */
function toSignIn(context: ConsoleContext): Response | Promise<Response> {
  const address = new URL("/sign-in", context.req.url);
  const back = whereFrom(context);
  if (back !== "/servers") address.searchParams.set("return_to", back);
  if (context.get("session") !== null) address.searchParams.set("why", "ended");
  const location = address.pathname + address.search;
  // A part of a page cannot show the sign-in form: the whole page goes there.
  if (context.req.header("hx-request") === "true") {
    context.header("hx-redirect", location);
    return context.body(null, 401);
  }
  return context.redirect(location, 303);
}

/** The page that a person was on: of a form, the one that held it, with what can be carried along. */
function whereFrom(context: ConsoleContext): string {
  const url = new URL(context.req.url);
  const isPart = context.req.header("hx-request") === "true";
  if (context.req.method === "GET" && !isPart) return safeReturnPath(url.pathname + url.search);
  const from = URL.parse(context.req.header(isPart ? "hx-current-url" : "referer") ?? "");
  const page = safeReturnPath(from === null ? null : from.pathname + from.search);
  const form = context.get("form");
  if (form === undefined || !page.startsWith("/servers/new")) return page;
  const carried = new URLSearchParams(
    [...form].filter(
      ([name]) => !["idempotency_key", "intent", "new_key_text", "new_key_name"].includes(name),
    ),
  );
  return safeReturnPath(`/servers/new?${carried}`);
}

function notFound(context: ConsoleContext) {
  const view = context.get("view");
  if (view === undefined) return context.text("Not found", 404);
  const { notFound: title, notFoundHint: hint } = view.messages.errors;
  return context.html(renderPage(<ErrorPage view={view} title={title} hint={hint} />), 404);
}

function forbidden(context: ConsoleContext, required: readonly string[]) {
  const view = context.get("view");
  const { errors } = view.messages;
  return context.html(
    renderPage(
      <ErrorPage
        view={view}
        title={errors.forbidden}
        hint={errors.forbiddenHint}
        detail={required.length === 0 ? null : errors.missing(required.join(", "))}
      />,
    ),
    403,
  );
}

function away(context: ConsoleContext) {
  const view = context.get("view");
  const { away: title, awayHint: hint } = view.messages.errors;
  const fields = context.get("form");
  const resend = fields === undefined ? null : { action: context.req.path, fields };
  context.header("retry-after", "5");
  return context.html(
    renderPage(<ErrorPage view={view} title={title} hint={hint} resend={resend} retry />),
    503,
  );
}

function broken(context: ConsoleContext) {
  const view = context.get("view");
  if (view === undefined) return context.text(`Something went wrong (${context.get("requestId")})`, 500);
  const { broken: title, brokenHint: hint } = view.messages.errors;
  return context.html(renderPage(<ErrorPage view={view} title={title} hint={hint} />), 500);
}

function badForm(context: ConsoleContext) {
  const view = context.get("view");
  // The sign-in form fails like this when the browser keeps no cookies.
  if (context.req.path === "/sign-in" && context.req.header("cookie") === undefined)
    return context.redirect("/sign-in?why=cookies", 303);
  const { badForm: title, badFormHint: hint } = view.messages.errors;
  return context.html(renderPage(<ErrorPage view={view} title={title} hint={hint} />), 403);
}

function tooLarge(context: ConsoleContext) {
  return context.text("413 That is too much text. Nothing was changed. Go back and send less.", 413);
}
