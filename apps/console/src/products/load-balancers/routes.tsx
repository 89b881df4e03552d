import { Hono } from "hono";
import { read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createRoutes } from "./create-routes.tsx";
import { LoadBalancersPage } from "./list-page.tsx";
import { listenerRoutes } from "./listener-routes.tsx";
import { balancerNotice } from "./read-tab.ts";
import { loadBalancers } from "./resource.ts";
import { selectedLoadBalancers } from "./selected.tsx";
import { showRoutes } from "./show-routes.tsx";
import { targetRoutes } from "./target-routes.tsx";

export function loadBalancerRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/load-balancers", showList);
  createRoutes(routes);
  routes.route("/", selectedRoutes(selectedLoadBalancers));
  listenerRoutes(routes);
  targetRoutes(routes);
  showRoutes(routes);
  return routes;
}

async function showList(context: ConsoleContext) {
  const api = context.get("api");
  const [{ list, ...listing }, networks, catalog] = await Promise.all([
    readList(context, loadBalancers),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    read(api.GET("/catalog")),
  ]);
  return context.html(
    renderPage(
      <LoadBalancersPage
        view={context.get("view")}
        balancers={list}
        networks={networks.items}
        regions={catalog.regions}
        {...listing}
        banner={balancerNotice(context)}
      />,
    ),
  );
}
