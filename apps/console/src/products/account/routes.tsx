import { Hono } from "hono";
import { attempt, conflictOf, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { listProviders, providerTrouble } from "../sign-in/providers.ts";
import { identityRoutes } from "./identity-routes.tsx";
import { passkeyRoutes } from "./passkey-routes.tsx";
import { AccountPage } from "./show-page.tsx";
import { twoFactorRoutes } from "./two-factor-routes.tsx";

export const accountPath = "/account/security";

/** The signed-in person's own account, whatever their role. */
export function accountRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/account", (context) => context.redirect(accountPath, 303));
  const showAccount = (context: ConsoleContext, shown: Shown) => drawAccount(services, context, shown);
  const showRefused = (context: ConsoleContext, outcome: Refused, of: string, fields: readonly string[]) =>
    drawRefused(services, context, outcome, of, fields);

  routes.get(accountPath, async (context) => {
    const { account } = context.get("view").messages;
    const why = context.req.query("why") ?? "";
    const trouble = why === "" ? null : providerTrouble(context, await listProviders(services, context), why);
    if (trouble !== null) return showAccount(context, { banner: { kind: "problem", text: trouble } });
    const refusal = context.req.query("refused") ?? "";
    if (Object.hasOwn(account.refusals, refusal))
      return showAccount(context, { banner: { kind: "problem", text: account.refusals[refusal] ?? "" } });
    return showAccount(context, { banner: noticeBanner(context, account.notices) });
  });

  routes.post("/account/password", async (context) => {
    const form = context.get("form");
    const wanted = form.get("new_password") ?? "";
    const { account } = context.get("view").messages;
    if (wanted !== form.get("repeat_password"))
      return showAccount(context, {
        form: { of: "password", values: {}, problems: { repeat_password: [account.repeatDiffers] } },
        status: 422,
      });
    const outcome = await attempt(
      context.get("api").PUT("/me/password", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          new_password: wanted,
          end_tokens: form.has("end_tokens"),
          // A person who signs in with a provider has no password.
          ...(form.has("current_password") ? { current_password: form.get("current_password") ?? "" } : {}),
        },
      }),
    );
    const notice = form.has("current_password") ? "password-changed" : "password-set";
    if (outcome.kind === "done") return context.redirect(`${accountPath}?notice=${notice}`, 303);
    if (outcome.kind === "refused" && outcome.problem.code === "proof_required")
      return context.redirect("/account/proof", 303);
    return showRefused(context, outcome, "password", ["current_password", "new_password"]);
  });

  routes.post("/account/sessions/end-others", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/me/sessions/end-others", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
      }),
    );
    if (outcome.kind !== "done") return showRefused(context, outcome, "sessions", []);
    return context.redirect(`${accountPath}?notice=others-ended`, 303);
  });

  routes.post("/account/sessions/:id/end", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/me/sessions/{login_session_id}", {
        params: {
          path: { login_session_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    const ended = doneIfAbsent(outcome);
    if (ended.kind !== "done") return showRefused(context, ended, "sessions", []);
    return context.redirect(`${accountPath}?notice=session-ended`, 303);
  });

  twoFactorRoutes(routes, services);
  passkeyRoutes(routes);
  identityRoutes(routes, services);

  // A refused form leaves its address in the address bar: a reload of it shows the page.
  for (const path of ["/account/password", "/account/sessions/*"])
    routes.get(path, (context) => context.redirect(accountPath, 303));

  return routes;
}

type Refused = Exclude<Outcome<unknown>, { readonly kind: "done" }>;

type Shown = {
  readonly banner?: PageBanner;
  readonly form?: RefusedForm;
  readonly status?: 200 | 409 | 422 | 429;
};

/** The page again, with the API's refusal of one of its forms. */
async function drawRefused(
  services: ConsoleServices,
  context: ConsoleContext,
  outcome: Refused,
  of: string,
  fields: readonly string[],
) {
  if (outcome.kind === "away" && outcome.tooMany) {
    const text = context.get("view").messages.account.tooMany;
    return drawAccount(services, context, { banner: { kind: "problem", text }, status: 429 });
  }
  // Throws for refusals that no form can show.
  conflictOf(outcome);
  return drawAccount(services, context, refuseForm(context, outcome, of, {}, { fields }));
}

async function drawAccount(services: ConsoleServices, context: ConsoleContext, shown: Shown) {
  const [sessions, security, providers] = await Promise.all([
    read(context.get("api").GET("/me/sessions")),
    read(context.get("api").GET("/me/security")),
    listProviders(services, context),
  ]);
  return context.html(
    renderPage(
      <AccountPage
        view={context.get("view")}
        sessions={sessions.items}
        security={security}
        providers={providers}
        banner={shown.banner ?? null}
        form={shown.form ?? null}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    shown.status ?? 200,
  );
}
