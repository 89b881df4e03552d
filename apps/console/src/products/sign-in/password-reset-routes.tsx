import { Hono } from "hono";
import { ApiAway, attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import { fieldProblems } from "../../problem-messages.ts";
import { visitorsClient } from "./enter.ts";
import { ForgotPasswordPage, type ForgotPasswordState, ResetPasswordPage } from "./reset-password-page.tsx";

/** Password resets: the form that requests a link, and the page that the link opens. */
export function passwordResetRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/forgot-password", (context) =>
    showForgotten(context, context.req.query("sent") === undefined ? "asks" : "sent"),
  );
  routes.post("/forgot-password", async (context) => {
    const { messages, language } = context.get("view");
    const email = (context.get("form").get("email") ?? "").trim();
    const again = (problem: string, status: 422 | 429) =>
      showForgotten(context, "asks", { email, problems: { email: [problem] }, status });
    const answer = await visitorsClient(services, context)
      .POST("/auth/password-reset", { body: { email, language } })
      .catch(() => null);
    if (answer === null) throw new ApiAway("the API does not answer", null);
    if (answer.response.status === 429) return again(messages.passwordReset.tooMany, 429);
    const outcome = await attempt(Promise.resolve(answer));
    if (outcome.kind === "done") return context.redirect("/forgot-password?sent", 303);
    const problem = conflictOf(outcome);
    if (problem.code === "not_configured") return showForgotten(context, "unmailed");
    return again(messages.passwordReset.noEmail, 422);
  });
  routes.get("/reset-password", (context) => showPage(context, context.req.query("secret") ?? ""));
  routes.post("/reset-password", async (context) => {
    const form = context.get("form");
    const { messages } = context.get("view");
    const secret = form.get("secret") ?? "";
    const wanted = form.get("new_password") ?? "";
    if (wanted !== form.get("repeat_password"))
      return showPage(context, secret, { repeat_password: [messages.account.repeatDiffers] }, 422);
    const answer = await visitorsClient(services, context)
      .POST("/auth/password-reset/confirm", {
        body: { secret, new_password: wanted, end_tokens: form.has("end_tokens") },
      })
      .catch(() => null);
    if (answer === null) throw new ApiAway("the API does not answer", null);
    if (answer.response.status === 429)
      return showPage(context, secret, { new_password: [messages.account.tooMany] }, 429);
    const outcome = await attempt(Promise.resolve(answer));
    if (outcome.kind === "done") return context.redirect("/sign-in?why=password-set", 303);
    const { fields } = fieldProblems(
      conflictOf(outcome),
      messages,
      (pointer) => ["secret", "new_password"].find((field) => pointer === `/${field}`) ?? null,
    );
    return showPage(context, secret, fields, 422);
  });
  return routes;
}

function showForgotten(
  context: ConsoleContext,
  state: ForgotPasswordState,
  more: { readonly email?: string; readonly problems?: FieldProblems; readonly status?: 422 | 429 } = {},
) {
  const { status = 200, ...typed } = more;
  const page = <ForgotPasswordPage view={context.get("view")} state={state} {...typed} />;
  return context.html(renderPage(page), status);
}

function showPage(
  context: ConsoleContext,
  secret: string,
  problems: FieldProblems = noProblems,
  status: 200 | 422 | 429 = 200,
) {
  const page = <ResetPasswordPage view={context.get("view")} secret={secret} problems={problems} />;
  return context.html(renderPage(page), status);
}
