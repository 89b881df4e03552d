import type { Hono } from "hono";
import { attempt } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { postedKey } from "../../posted-form.ts";
import { listProviders, troubleOf } from "../sign-in/providers.ts";
import { ContinuePage } from "./continue-page.tsx";
import { answerRefused } from "./two-factor-routes.tsx";

const accountPath = "/account/security";
type Answer = { readonly flow: string; readonly response: string };

/**
 * Linking of providers: each flow starts here with a form, continues at the provider, and ends at the callback address.
 */
export function identityRoutes(routes: Hono<ConsoleEnv>, services: ConsoleServices): void {
  routes.post("/account/identities/link", (context) => begin(services, context, "link"));
  routes.post("/account/proof/provider", (context) => begin(services, context, "prove"));

  routes.post("/account/identities/:id/remove", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/me/identities/{identity_id}", {
        params: {
          path: { identity_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    const isGone = outcome.kind === "refused" && outcome.problem.status === 404;
    if (outcome.kind !== "done" && !isGone) return answerRefused(context, outcome);
    return context.redirect(`${accountPath}?notice=identity-unlinked`, 303);
  });

  for (const path of [
    "/account/identities/link",
    "/account/identities/:id/remove",
    "/account/proof/provider",
  ])
    routes.get(path, (context) => context.redirect(accountPath, 303));
}

/**
 * An intermediate page instead of a redirect: the policy restricts form submissions to this console, and browsers apply
 * that to redirects of the answer too.
 */
async function begin(services: ConsoleServices, context: ConsoleContext, purpose: "link" | "prove") {
  const provider = context.get("form").get("provider") ?? "";
  const outcome = await attempt(
    context.get("api").POST("/me/identities/authorization", { body: { provider, purpose } }),
  );
  if (outcome.kind === "refused" && outcome.problem.code === "proof_required")
    return context.redirect("/account/proof", 303);
  if (outcome.kind !== "done")
    return backWith(context, provider, outcome.kind === "refused" ? "provider_gone" : "provider_away");
  const { flow, authorization_url: url, expires_at: expiresAt } = outcome.data;
  await services.cookies.writeFlow(context, {
    flow,
    expiresAt,
    provider,
    of: purpose,
    returnTo: accountPath,
  });
  const label = (await listProviders(services, context)).find(({ id }) => id === provider)?.label ?? provider;
  return context.html(renderPage(<ContinuePage view={context.get("view")} url={url} label={label} />));
}

export async function endIdentityLink(
  { cookies }: ConsoleServices,
  context: ConsoleContext,
  provider: string,
  body: Answer,
): Promise<Response> {
  if (context.get("session") === null) return context.redirect("/sign-in", 303);
  const answer = await context
    .get("api")
    .POST("/me/identities", { body })
    .catch(() => null);
  if (answer?.response.status === 401) return context.redirect("/sign-in?why=ended", 303);
  const isUnproven = (answer?.error as { code?: string } | undefined)?.code === "proof_required";
  // After a proof the person chooses the provider again, which returns the same answer.
  if (isUnproven) return context.redirect("/account/proof", 303);
  if (answer?.data === undefined) return backWith(context, provider, troubleOf(answer));
  cookies.clearFlow(context);
  return context.redirect(`${accountPath}?notice=identity-linked`, 303);
}

export async function endIdentityProof(
  { cookies }: ConsoleServices,
  context: ConsoleContext,
  provider: string,
  oidc: Answer,
): Promise<Response> {
  if (context.get("session") === null) return context.redirect("/sign-in", 303);
  const answer = await context
    .get("api")
    .POST("/me/proof", { body: { oidc } })
    .catch(() => null);
  if (answer?.response.status === 401) return context.redirect("/sign-in?why=ended", 303);
  if (answer?.response.status !== 204) return backWith(context, provider, troubleOf(answer));
  cookies.clearFlow(context);
  return context.redirect(`${accountPath}?notice=proven`, 303);
}

function backWith(context: ConsoleContext, provider: string, why: string): Response {
  return context.redirect(`${accountPath}?${new URLSearchParams({ with: provider, why })}`, 303);
}
