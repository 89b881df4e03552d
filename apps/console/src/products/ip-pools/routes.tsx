import { Hono } from "hono";
import { readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { readList } from "../../resources/read-list.ts";
import { createIpPoolRoutes } from "./create-routes.tsx";
import { IpPoolsPage } from "./list-page.tsx";
import { ipPools } from "./resource.ts";
import { ipPoolPageRoutes } from "./show-routes.tsx";

/** For operators; the API refuses everybody else. */
export function ipPoolRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/ip-pools", showList);
  createIpPoolRoutes(routes);
  ipPoolPageRoutes(routes);
  return routes;
}

async function showList(context: ConsoleContext) {
  const view = context.get("view");
  const [{ list: pools, query }, regions] = await Promise.all([
    readList(context, ipPools),
    readAll((page) => context.get("api").GET("/regions", { params: { query: page } })),
  ]);
  return context.html(
    renderPage(
      <IpPoolsPage
        view={view}
        pools={pools}
        regions={regions.items}
        query={query}
        banner={noticeBanner(context, view.messages.ipPools.notices)}
      />,
    ),
  );
}
