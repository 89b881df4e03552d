import { createMiddleware } from "hono/factory";
import { clientFor, SessionEnded } from "./api.ts";
import type { ConsoleEnv, ConsoleServices } from "./console-context.ts";
import { formTokenField, formTokenHolds, isSameOrigin } from "./csrf.ts";
import { badForm } from "./failures.tsx";
import { readListChoices } from "./layout/list-choices.ts";
import { createView, isTheme } from "./layout/view.ts";
import { chooseLanguage } from "./messages/messages.ts";

// Paths that are open without a session; all others require one.
const openPaths = new Set([
  "/sign-in",
  "/sign-in/second-factor",
  "/sign-in/passkey",
  "/sign-out",
  "/preferences",
  "/join",
  "/forgot-password",
  "/reset-password",
]);
const providerPath = /^\/sign-in\/with\/[a-z0-9-]{1,40}(\/callback)?$/;
// Operators need no chosen organisation for these paths.
const ofTheInstallation = /^\/($|(account|organisations|operator|ip-pools)(\/|$))/;

/** Determines the visitor's session, language and theme, which rendering needs. */
export function readVisitor({ settings, cookies, assets }: ConsoleServices) {
  return createMiddleware<ConsoleEnv>(async (context, next) => {
    context.header("cache-control", "no-store");
    const session = await cookies.readSession(context);
    const theme = cookies.readPreference(context, "theme");
    const url = new URL(context.req.url);
    const formSecret =
      session === null || context.req.path.startsWith("/sign-in")
        ? cookies.visitorSecret(context)
        : session.formSecret;
    context.set("session", session);
    context.set("formSecret", formSecret);
    context.set("api", clientFor(settings, session, context));
    context.set(
      "view",
      createView({
        language: chooseLanguage(
          cookies.readPreference(context, "language"),
          context.req.header("accept-language"),
        ),
        theme: isTheme(theme) ? theme : "system",
        lists: readListChoices(cookies.readPreference(context, "lists")),
        session,
        assets,
        now: new Date(),
        path: context.req.method === "GET" ? url.pathname + url.search : url.pathname,
        requestId: context.get("requestId"),
        nonce: context.get("secureHeadersNonce") ?? "",
        apiUrl: settings.shownApiUrl,
        formSecret,
      }),
    );
    await next();
  });
}

/** Admits pages with a session, and forms that a page of this console sent. */
export const guardRequest = createMiddleware<ConsoleEnv>(async (context, next) => {
  const session = context.get("session");
  if (!openPaths.has(context.req.path) && !providerPath.test(context.req.path)) {
    if (session === null) throw new SessionEnded();
    if (session.operator && session.organisation === null && !ofTheInstallation.test(context.req.path))
      return context.redirect("/organisations", 303);
  }
  if (context.req.method === "GET" || context.req.method === "HEAD") return next();

  const sameOrigin = isSameOrigin(context.req.header(), context.req.header("host") ?? "");
  const form = new URLSearchParams(await context.req.text());
  if (!sameOrigin || !formTokenHolds(context.get("formSecret"), form.get(formTokenField)))
    return badForm(context);
  form.delete(formTokenField);
  context.set("form", form);
  return next();
});
