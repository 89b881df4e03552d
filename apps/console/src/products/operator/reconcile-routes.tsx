import { Hono } from "hono";
import { attempt, conflictOf, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import { problemText } from "../../problem-messages.ts";
import { ReconcilePage } from "./reconcile-page.tsx";

/** `/operator/servers/:id/reconcile`: in the organisation that the operator acts in. */
export function reconcileRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/:id/reconcile", (context) => show(context, null, 200));

  routes.post("/:id/reconcile", async (context) => {
    const id = context.req.param("id");
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/reconcile", {
        params: { path: { server_id: id }, header: { "Idempotency-Key": postedKey(context) } },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/servers/${id}`, 303);
    const text = problemText(conflictOf(outcome), context.get("view").messages);
    return show(context, { kind: "problem", text }, 409);
  });

  return routes;
}

async function show(context: ConsoleContext, banner: PageBanner, status: 200 | 409) {
  const server = await read(
    context.get("api").GET("/servers/{server_id}", {
      params: { path: { server_id: context.req.param("id") ?? "" } },
    }),
  );
  return context.html(
    renderPage(
      <ReconcilePage
        view={context.get("view")}
        server={server}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
