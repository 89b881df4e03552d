import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { SwitchPage } from "./switch-page.tsx";
import { switchTo } from "./switch-to.ts";

export function switchRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/switch-organisation", async (context) => {
    const { items } = await read(context.get("api").GET("/me/organisations"));
    return context.html(renderPage(<SwitchPage view={context.get("view")} organisations={items} />));
  });
  routes.post("/switch-organisation", (context) =>
    switchTo(context, services, context.get("form").get("organisation_id") ?? ""),
  );
  return routes;
}
