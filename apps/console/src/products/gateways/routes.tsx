import { Hono } from "hono";
import { read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createGatewayRoutes } from "./create-routes.tsx";
import { GatewaysPage } from "./list-page.tsx";
import { gateways } from "./resource.ts";
import { selectedGateways } from "./selected.tsx";
import { gatewayPageRoutes } from "./show-routes.tsx";

export function gatewayRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/gateways", showList);
  createGatewayRoutes(routes);
  routes.route("/", selectedRoutes(selectedGateways));
  gatewayPageRoutes(routes);
  return routes;
}

async function showList(context: ConsoleContext) {
  const api = context.get("api");
  const view = context.get("view");
  const [{ list, ...listing }, networks, catalog] = await Promise.all([
    readList(context, gateways),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    read(api.GET("/catalog")),
  ]);
  return context.html(
    renderPage(
      <GatewaysPage
        view={view}
        gateways={list}
        networks={networks.items}
        regions={catalog.regions}
        {...listing}
        banner={noticeBanner(context, view.messages.gateways.notices)}
      />,
    ),
  );
}
