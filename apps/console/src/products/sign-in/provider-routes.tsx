import type { Hono } from "hono";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { type BegunFlow, safeReturnPath } from "../../session.ts";
import { endIdentityLink, endIdentityProof } from "../account/identity-routes.tsx";
import { enter, visitorsClient } from "./enter.ts";
import { troubleOf } from "./providers.ts";

/**
 * Sign-in with a provider. The API's sealed state of the flow is in a sealed cookie of this browser, so the answer of
 * another person's sign-in is refused here.
 */
export function providerRoutes(routes: Hono<ConsoleEnv>, services: ConsoleServices): void {
  const { cookies } = services;

  routes.get("/sign-in/with/:provider", async (context) => {
    const provider = context.req.param("provider");
    const invitation = context.req.query("invitation");
    const returnTo = safeReturnPath(context.req.query("return_to"), "/");
    // Other sites may link to the sign-in page, but not start a flow.
    if (context.req.header("sec-fetch-site") === "cross-site") return context.redirect("/sign-in", 303);
    if (context.get("session") !== null) return context.redirect(returnTo, 303);
    const begun = await visitorsClient(services, context)
      .POST("/auth/oidc/authorization", {
        body: { provider, ...(invitation === undefined ? {} : { invitation }) },
      })
      .catch(() => null);
    if (begun?.data === undefined) return toSignIn(context, provider, troubleOf(begun));
    const { flow, authorization_url: url, expires_at: expiresAt } = begun.data;
    cookies.clearPending(context);
    await cookies.writeFlow(context, {
      flow,
      expiresAt,
      provider,
      of: "login",
      returnTo,
      ...(invitation === undefined ? {} : { invitation }),
    });
    return context.redirect(url, 303);
  });

  routes.get("/sign-in/with/:provider/callback", async (context) => {
    const provider = context.req.param("provider");
    const begun = await cookies.readFlow(context);
    // The code does not stay in the address or in the browser's history: every result redirects.
    if (begun === null || begun.provider !== provider) return toSignIn(context, provider, "provider_failed");
    const answer = { flow: begun.flow, response: new URL(context.req.url).search.slice(1) || "-" };
    if (begun.of === "link") return endIdentityLink(services, context, provider, answer);
    if (begun.of === "prove") return endIdentityProof(services, context, provider, answer);
    const opened = await visitorsClient(services, context)
      .POST("/auth/oidc", { body: answer })
      .catch(() => null);
    // An invalid answer may belong to another flow: the flow of this browser may still be completed.
    if (opened?.data === undefined) return toSignIn(context, provider, troubleOf(opened));
    cookies.clearFlow(context);
    const returnTo = await placeAfter(services, context, begun);
    if ("sign_in" in opened.data) {
      const { sign_in: signIn, expires_at: expiresAt, methods } = opened.data;
      await cookies.writePending(context, { signIn, expiresAt, methods, returnTo });
      return context.redirect("/sign-in/second-factor", 303);
    }
    return enter(services, context, opened.data, returnTo);
  });
}

/** A person who had an account before has not joined by the invitation yet: its page asks for that. */
async function placeAfter(
  services: ConsoleServices,
  context: ConsoleContext,
  { invitation, returnTo }: BegunFlow,
): Promise<string> {
  if (invitation === undefined) return safeReturnPath(returnTo, "/");
  const offer = await visitorsClient(services, context)
    .POST("/auth/invitation", { body: { secret: invitation } })
    .catch(() => null);
  if (offer?.data === undefined) return safeReturnPath(returnTo, "/");
  return `/join?${new URLSearchParams({ invitation })}`;
}

function toSignIn(context: ConsoleContext, provider: string, why: string): Response {
  if (context.get("session") !== null) return context.redirect("/", 303);
  return context.redirect(`/sign-in?${new URLSearchParams({ with: provider, why })}`, 303);
}
