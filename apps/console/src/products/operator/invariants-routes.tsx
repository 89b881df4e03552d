import { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { InvariantsPage } from "./list-invariants-page.tsx";

/** The worker's last result; `?fresh=true` requests a new check, which takes up to half a minute. */
export function invariantsRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/", async (context) => {
    const api = context.get("api");
    const last = () => read(api.GET("/operator/invariants"));
    if (context.req.query("fresh") !== "true")
      return context.html(
        renderPage(<InvariantsPage view={context.get("view")} report={await last()} isUnanswered={false} />),
      );
    const fresh = await attempt(api.GET("/operator/invariants", { params: { query: { fresh: true } } }));
    const isUnanswered = fresh.kind !== "done";
    return context.html(
      renderPage(
        <InvariantsPage
          view={context.get("view")}
          report={fresh.kind === "done" ? fresh.data : await last()}
          isUnanswered={isUnanswered}
        />,
      ),
      isUnanswered ? 503 : 200,
    );
  });

  return routes;
}
