import { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { problemText } from "../../problem-messages.ts";
import { ConsolePage } from "./show-page.tsx";

/** The page of a console, and the tickets that its script requests: one for each connection. */
export function consoleRoutes({ settings }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/servers/:id/console", async (context) => {
    const id = context.req.param("id");
    const server = await read(
      context.get("api").GET("/servers/{server_id}", { params: { path: { server_id: id } } }),
    );
    const wanted = context.req.query("type");
    const type = wanted === "vnc" || wanted === "serial" ? wanted : (server.console.types[0] ?? "vnc");
    context.set("socketOrigin", settings.socketOrigin);
    const view = context.get("view");
    return context.html(renderPage(<ConsolePage view={view} server={server} type={type} />));
  });

  routes.post("/servers/:id/console/ticket", async (context) => {
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/console", {
        params: { path: { server_id: context.req.param("id") } },
        body: {
          type: form.get("type") === "vnc" ? "vnc" : "serial",
          take_over: form.get("take_over") === "true",
        },
      }),
    );
    if (outcome.kind === "away") return context.json({ code: "away" }, 503);
    if (outcome.kind === "refused") {
      const { problem } = outcome;
      return context.json(
        { code: problem.code, text: problemText(problem, context.get("view").messages) },
        409,
      );
    }
    const { url, protocol, ticket } = outcome.data;
    return context.json({ url, protocol, ticket });
  });

  return routes;
}
