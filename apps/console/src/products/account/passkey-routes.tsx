import type { Hono } from "hono";
import { attempt } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { passkeyAnswer } from "../../layout/passkey-form.tsx";
import { postedKey } from "../../posted-form.ts";
import { CreatePasskeyPage } from "./create-passkey-page.tsx";
import { deviceOf } from "./device.ts";
import { answerRefused, showCodes } from "./two-factor-routes.tsx";

const accountPath = "/account/security";

const newPath = "/account/passkeys/new";

export function passkeyRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get(newPath, (context) => showNew(context, false));

  routes.post(newPath, async (context) => {
    const form = context.get("form");
    const answer = passkeyAnswer(form);
    const name = (form.get("name") ?? "").trim();
    if (answer === null || name === "") return showNew(context, true);
    const outcome = await attempt(
      context.get("api").POST("/me/passkeys", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: { ...answer, name },
      }),
    );
    if (outcome.kind === "refused" && outcome.problem.status === 422) return showNew(context, true);
    if (outcome.kind !== "done") return answerRefused(context, outcome);
    const { recovery_codes: codes } = outcome.data;
    if (codes !== null) return showCodes(context, codes);
    return context.redirect(`${accountPath}?notice=passkey-added`, 303);
  });

  routes.post("/account/passkeys/:id/rename", async (context) => {
    const outcome = await attempt(
      context.get("api").PATCH("/me/passkeys/{passkey_id}", {
        params: {
          path: { passkey_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: { name: (context.get("form").get("name") ?? "").trim() },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`${accountPath}?notice=passkey-renamed`, 303);
    if (outcome.kind === "refused" && outcome.problem.status === 422)
      return context.redirect(`${accountPath}?refused=bad_name`, 303);
    return answerRefused(context, outcome);
  });

  routes.post("/account/passkeys/:id/remove", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/me/passkeys/{passkey_id}", {
        params: {
          path: { passkey_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    const isGone = outcome.kind === "refused" && outcome.problem.status === 404;
    if (outcome.kind !== "done" && !isGone) return answerRefused(context, outcome);
    return context.redirect(`${accountPath}?notice=passkey-removed`, 303);
  });

  routes.get("/account/passkeys/:id/:act", (context) => context.redirect(accountPath, 303));
}

async function showNew(context: ConsoleContext, isRefused: boolean) {
  const begun = await attempt(
    context.get("api").POST("/me/passkey-options", { body: { purpose: "register" } }),
  );
  if (begun.kind !== "done") return answerRefused(context, begun);
  const view = context.get("view");
  const page = (
    <CreatePasskeyPage
      view={view}
      action={newPath}
      ceremony={begun.data}
      device={deviceOf(context.req.header("user-agent") ?? null)}
      isRefused={isRefused}
    />
  );
  return context.html(renderPage(page), isRefused ? 422 : 200);
}
