import { Hono } from "hono";
import { attempt, clientFor, read } from "../../api.ts";
import { type ConsoleEnv, type ConsoleServices, sessionOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { InvariantsPage } from "./list-invariants-page.tsx";

/** The API answers after 30 s at the latest, with the report or without one. */
const longestCheckMs = 35_000;

/** The worker's last result; `?fresh=true` requests a new check, which takes up to half a minute. */
export function invariantsRoutes({ settings }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/", async (context) => {
    const api = context.get("api");
    const last = () => read(api.GET("/operator/invariants"));
    if (context.req.query("fresh") !== "true")
      return context.html(
        renderPage(<InvariantsPage view={context.get("view")} report={await last()} isUnanswered={false} />),
      );
    const client = clientFor(settings, sessionOf(context), context, longestCheckMs);
    const fresh = await attempt(client.GET("/operator/invariants", { params: { query: { fresh: true } } }));
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
