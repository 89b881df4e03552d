import type { Hono } from "hono";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { safeReturnPath } from "../../session.ts";
import { enter, visitorsClient } from "./enter.ts";
import { SecondFactorPage } from "./prove-second-factor-page.tsx";

const path = "/sign-in/second-factor";

/** The second step of a sign-in. The state of the first step is in a sealed cookie that grants nothing by itself. */
export function secondFactorRoutes(routes: Hono<ConsoleEnv>, services: ConsoleServices): void {
  const { cookies } = services;

  routes.get(path, async (context) => {
    const pending = await cookies.readPending(context);
    if (pending === null) return context.redirect("/sign-in", 303);
    return show(context, pending.methods, null, 200);
  });

  routes.post(path, async (context) => {
    const pending = await cookies.readPending(context);
    if (pending === null) return context.redirect("/sign-in?why=ended", 303);
    const { messages } = context.get("view");
    const typed = (context.get("form").get("code") ?? "").trim();
    const digits = typed.replaceAll(/\s/g, "");
    const factor = /^\d{6}$/.test(digits) ? { code: digits } : { recovery_code: typed || "-" };
    const opened = await visitorsClient(services, context)
      .POST("/auth/second-factor", { body: { sign_in: pending.signIn, ...factor } })
      .catch(() => null);
    const { methods } = pending;
    if (opened === null) return show(context, methods, messages.errors.away, 503);
    const { status } = opened.response;
    if (status === 429) return show(context, methods, messages.signIn.tooMany, 429);
    if (status === 422) return show(context, methods, messages.account.codeRefused, 422);
    if (status === 401) {
      cookies.clearPending(context);
      return context.redirect("/sign-in?why=ended", 303);
    }
    if (opened.data === undefined) return show(context, methods, messages.errors.away, 503);
    return enter(services, context, opened.data, safeReturnPath(pending.returnTo, "/"));
  });
}

function show(
  context: ConsoleContext,
  methods: readonly string[],
  problem: string | null,
  status: 200 | 422 | 429 | 503,
) {
  const view = context.get("view");
  return context.html(
    renderPage(<SecondFactorPage view={view} methods={methods} problem={problem} />),
    status,
  );
}
