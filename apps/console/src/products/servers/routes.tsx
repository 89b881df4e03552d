import { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import { type ConsoleEnv, type ConsoleServices, noticeOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { listRequestParameters, narrowedList } from "../../layout/list-query.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createServerRoutes } from "./create-routes.tsx";
import { ServerListPage } from "./list-page.tsx";
import { readServerListQuery } from "./list-query.ts";
import { resizeRoutes } from "./resize-routes.tsx";
import { selectedServers } from "./selected.tsx";
import { serverPageRoutes } from "./show-routes.tsx";

export function serverRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/servers", async (context) => {
    const view = context.get("view");
    const api = context.get("api");
    const query = readServerListQuery(new URL(context.req.url).searchParams);
    const [listed, catalog] = await Promise.all([
      attempt(
        api.GET("/servers", {
          params: {
            query: {
              ...listRequestParameters(query, rowsOf(view.lists, "servers")),
              sort: query.sort,
              ...(query.status.length === 0 ? {} : { status: [...query.status] }),
              ...(query.managed ? { managed: true } : {}),
            },
          },
        }),
      ),
      read(api.GET("/catalog")),
    ]);
    const { list: servers, selectorProblem } = narrowedList(listed, view.messages);
    return context.html(
      renderPage(
        <ServerListPage
          view={view}
          query={query}
          servers={servers}
          selectorProblem={selectorProblem}
          regions={catalog.regions}
          notice={noticeOf(context, view.messages.servers.notices)}
        />,
      ),
    );
  });

  routes.route("/servers/new", createServerRoutes(services));
  routes.route("/", selectedRoutes(selectedServers));

  serverPageRoutes(routes, services);
  resizeRoutes(routes);
  return routes;
}
