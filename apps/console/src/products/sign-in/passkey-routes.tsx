import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { Banner } from "../../layout/parts.tsx";
import { PasskeyForm, passkeyAnswer } from "../../layout/passkey-form.tsx";
import { SignInCard } from "../../layout/sign-in-card.tsx";
import { safeReturnPath } from "../../session.ts";
import { enter, visitorsClient } from "./enter.ts";

const path = "/sign-in/passkey";

/** Sign-in by a passkey: alone, or as the second step after a correct password. */
export function passkeySignInRoutes(routes: Hono<ConsoleEnv>, services: ConsoleServices): void {
  const { cookies } = services;

  const begin = async (context: ConsoleContext) => {
    const pending = await cookies.readPending(context);
    const body = pending === null ? {} : { sign_in: pending.signIn };
    const begun = await visitorsClient(services, context)
      .POST("/auth/passkey-options", { body })
      .catch(() => null);
    return { pending, begun };
  };

  const show = async (context: ConsoleContext, problem: string | null, status: 200 | 401 | 429 | 503) => {
    const { pending, begun } = await begin(context);
    const { messages } = context.get("view");
    if (begun?.response.status === 401) {
      cookies.clearPending(context);
      return context.redirect("/sign-in?why=ended", 303);
    }
    const away = begun?.response.status === 409 ? messages.account.noPasskeysHere : messages.errors.away;
    const page = (
      <PasskeyPage
        context={context}
        ceremony={begun?.data ?? null}
        returnTo={pending?.returnTo ?? safeReturnPath(context.req.query("return_to"), "/")}
        problem={begun?.data === undefined ? away : problem}
      />
    );
    return context.html(renderPage(page), begun?.data === undefined ? 503 : status);
  };

  routes.get(path, (context) => show(context, null, 200));

  routes.post(path, async (context) => {
    const form = context.get("form");
    const { messages } = context.get("view");
    const answer = passkeyAnswer(form);
    if (answer === null) return show(context, messages.account.passkeyFailed, 401);
    const pending = await cookies.readPending(context);
    const opened = await visitorsClient(services, context)
      .POST("/auth/passkey", {
        body: { ...answer, ...(pending === null ? {} : { sign_in: pending.signIn }) },
      })
      .catch(() => null);
    if (opened?.response.status === 429) return show(context, messages.signIn.tooMany, 429);
    if (opened?.data === undefined) return show(context, messages.account.passkeyRefused, 401);
    const returnTo = safeReturnPath(pending?.returnTo ?? form.get("return_to"), "/");
    return enter(services, context, opened.data, returnTo);
  });
}

function PasskeyPage(props: {
  readonly context: ConsoleContext;
  readonly ceremony: Schemas["PasskeyCeremony"] | null;
  readonly returnTo: string;
  readonly problem: string | null;
}) {
  const { context, ceremony, returnTo, problem } = props;
  const view = context.get("view");
  const text = view.messages.account;
  return (
    <SignInCard view={view} title={text.passkeySignIn} lead={text.passkeySignInLead} needs={["passkeys"]}>
      {problem === null ? null : <Banner kind="problem">{problem}</Banner>}
      {ceremony === null ? null : (
        <PasskeyForm
          view={view}
          action={path}
          use="authenticate"
          ceremony={ceremony}
          submit={text.usePasskey}
        >
          <input type="hidden" name="return_to" value={returnTo} />
        </PasskeyForm>
      )}
      <p class="sign-in-other">
        <a href="/sign-in">{text.withPassword}</a>
      </p>
    </SignInCard>
  );
}
