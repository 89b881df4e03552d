import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { QuotasPage } from "./show-page.tsx";

export function quotaRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/quotas", async (context) => {
    const quotas = await read(context.get("api").GET("/quotas"));
    return context.html(renderPage(<QuotasPage view={context.get("view")} quotas={quotas} />));
  });
  return routes;
}
