import { Hono } from "hono";
import { ApiAway, attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import { fieldProblems } from "../../problem-messages.ts";
import { visitorsClient } from "./enter.ts";
import { ForgotPasswordPage, ResetPasswordPage } from "./password-reset-page.tsx";

/** Where a person gets a new password: how to ask for the link, and what the link opens. */
export function passwordResetRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/forgot-password", (context) =>
    context.html(renderPage(<ForgotPasswordPage view={context.get("view")} />)),
  );
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

function showPage(
  context: ConsoleContext,
  secret: string,
  problems: FieldProblems = noProblems,
  status: 200 | 422 | 429 = 200,
) {
  const page = <ResetPasswordPage view={context.get("view")} secret={secret} problems={problems} />;
  return context.html(renderPage(page), status);
}
