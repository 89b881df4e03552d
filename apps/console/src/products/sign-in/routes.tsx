import { Hono } from "hono";
import { clientFor } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { chosen, isListId, writeListChoices } from "../../layout/list-choices.ts";
import { isTheme } from "../../layout/view.ts";
import { isLanguage } from "../../messages/messages.ts";
import { safeReturnPath } from "../../session.ts";
import { enter, visitorsClient } from "./enter.ts";
import { passkeySignInRoutes } from "./passkey-routes.tsx";
import { providerRoutes } from "./provider-routes.tsx";
import { listProviders, providerTrouble } from "./providers.ts";
import { secondFactorRoutes } from "./second-factor-routes.tsx";
import { SignInPage } from "./show-page.tsx";

/** Sign-in, sign-out, and display preferences, which need no account. */
export function signInRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const { settings, cookies } = services;
  const routes = new Hono<ConsoleEnv>();

  routes.get("/sign-in", async (context) => {
    const returnTo = safeReturnPath(context.req.query("return_to"), "/");
    if (context.get("session") !== null) return context.redirect(returnTo, 303);
    // This page starts a new sign-in: a passkey used next is not the second step of a flow that another person began.
    cookies.clearPending(context);
    const { signIn, passwordReset } = context.get("view").messages;
    const why = context.req.query("why");
    const providers = await listProviders(services, context);
    const trouble = providerTrouble(context, providers, why ?? "");
    const banner =
      trouble !== null
        ? ({ kind: "problem", text: trouble } as const)
        : why === "password-set"
          ? ({ kind: "notice", text: passwordReset.done } as const)
          : why === "ended"
            ? ({ kind: "warning", text: signIn.ended } as const)
            : why === "signed-out"
              ? ({ kind: "notice", text: signIn.signedOut } as const)
              : why === "cookies"
                ? ({ kind: "problem", text: signIn.cookies } as const)
                : null;
    return context.html(
      renderPage(
        <SignInPage
          view={context.get("view")}
          email=""
          returnTo={returnTo}
          banner={banner}
          isAgain={why === "ended"}
          providers={providers}
        />,
      ),
    );
  });

  routes.post("/sign-in", async (context) => {
    const form = context.get("form");
    const returnTo = safeReturnPath(form.get("return_to"), "/");
    const email = (form.get("email") ?? "").trim();
    const view = context.get("view");
    const { messages } = view;
    const refuse = async (status: 401 | 429 | 503, text: string) =>
      context.html(
        renderPage(
          <SignInPage
            view={view}
            email={email}
            returnTo={returnTo}
            banner={{ kind: "problem", text }}
            providers={await listProviders(services, context)}
          />,
        ),
        status,
      );

    const client = visitorsClient(services, context);
    const opened = await client
      .POST("/auth/login", { body: { email, password: form.get("password") ?? "" } })
      .catch(() => null);
    if (opened === null) return refuse(503, messages.errors.away);
    if (opened.response.status === 429) return refuse(429, messages.signIn.tooMany);
    // An e-mail without an at sign is a field error; the person sees the same text as for a wrong one.
    if (opened.response.status === 401 || opened.response.status === 422)
      return refuse(401, messages.signIn.refused);
    if (opened.data === undefined) return refuse(503, messages.errors.away);

    if ("sign_in" in opened.data) {
      const { sign_in: signIn, expires_at: expiresAt, methods } = opened.data;
      await cookies.writePending(context, { signIn, expiresAt, methods, returnTo });
      return context.redirect("/sign-in/second-factor", 303);
    }
    return enter(services, context, opened.data, returnTo);
  });

  secondFactorRoutes(routes, services);
  passkeySignInRoutes(routes, services);
  providerRoutes(routes, services);

  routes.post("/sign-out", async (context) => {
    const session = context.get("session");
    if (session !== null)
      // The cookie is deleted in any case; if the API is unreachable, the token expires by itself.
      await clientFor(settings, session, context)
        .POST("/auth/logout")
        .catch(() => undefined);
    cookies.clearSession(context);
    // Signing out in order to sign in as another user, for an invitation to that user.
    const back = safeReturnPath(context.get("form").get("return_to"));
    return context.redirect(back.startsWith("/join?") ? back : "/sign-in?why=signed-out", 303);
  });

  routes.post("/preferences", (context) => {
    const form = context.get("form");
    const theme = form.get("theme") ?? undefined;
    const language = form.get("language") ?? undefined;
    if (isTheme(theme)) cookies.writePreference(context, "theme", theme);
    if (isLanguage(language)) cookies.writePreference(context, "language", language);
    const list = form.get("list");
    if (isListId(list)) {
      const { [list]: _before, ...others } = context.get("view").lists;
      const now = chosen(list, form.get("rows"), form.getAll("columns"));
      const lists = form.get("intent") === "reset" ? others : { ...others, [list]: now };
      cookies.writePreference(context, "lists", writeListChoices(lists));
    }
    const back = pageOf(context) ?? form.get("return_to") ?? "";
    return context.redirect(back.startsWith("/sign-in") ? "/sign-in" : safeReturnPath(back), 303);
  });

  return routes;
}

/** The browser's address of the form's page: the filters of a list change it without a new page. */
function pageOf(context: ConsoleContext): string | null {
  const from = URL.parse(context.req.header("referer") ?? "");
  return from === null ? null : from.pathname + from.search;
}
