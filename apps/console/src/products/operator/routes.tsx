import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { RegionsPage } from "./regions-page.tsx";

/** Pages of the installation and not of an organisation: the API refuses them to everybody else. */
export function operatorRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/operator", async (context) => {
    const api = context.get("api");
    const cursor = context.req.query("cursor") || undefined;
    const [regions, drift] = await Promise.all([
      read(api.GET("/regions", { params: { query: { limit: 50 } } })),
      read(
        api.GET("/operator/drift", {
          params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
        }),
      ),
    ]);
    const known = await Promise.all(
      regions.items.map(async (region) => ({
        region,
        capacity: await read(
          api.GET("/regions/{region}/capacity", { params: { path: { region: region.slug } } }),
        ),
      })),
    );
    return context.html(
      renderPage(<RegionsPage view={context.get("view")} regions={known} drift={drift} cursor={cursor} />),
    );
  });

  return routes;
}
