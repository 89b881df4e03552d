import { Hono } from "hono";
import { attempt, conflictOf, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import { problemText } from "../../problem-messages.ts";
import { RestorePage } from "./show-restore-page.tsx";

/** `/operator/restore`: what is left to do after a restore of the control plane's database. */
export function restoreRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/", (context) =>
    show(context, noticeBanner(context, context.get("view").messages.restore.notices), 200),
  );

  routes.post("/:region", async (context) => {
    const ends = context.get("form").get("what") === "end";
    const outcome = await attempt(
      context.get("api").PATCH("/regions/{region}/restore", {
        params: {
          path: { region: context.req.param("region") },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: ends ? { ended: true } : { accept_incomplete_scan: true },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/operator/restore?notice=${ends ? "ended" : "accepted"}`, 303);
    const text = problemText(conflictOf(outcome), context.get("view").messages);
    return show(context, { kind: "problem", text }, 409);
  });

  return routes;
}

async function show(context: ConsoleContext, banner: PageBanner, status: 200 | 409) {
  const api = context.get("api");
  const cursor = context.req.query("cursor") || undefined;
  const [report, held] = await Promise.all([
    read(api.GET("/operator/restore")),
    read(
      api.GET("/operator/held-vms", {
        params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    ),
  ]);
  return context.html(
    renderPage(
      <RestorePage
        view={context.get("view")}
        report={report}
        held={held}
        cursor={cursor}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
