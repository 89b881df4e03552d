import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createFirewallRoutes } from "./create-routes.tsx";
import { FirewallsPage } from "./list-page.tsx";
import { firewalls } from "./resource.ts";
import { ruleRoutes } from "./rule-routes.tsx";
import { selectedFirewalls } from "./selected.tsx";
import { firewallPageRoutes } from "./show-routes.tsx";

export function firewallRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/firewalls", async (context) => {
    const view = context.get("view");
    const [listed, catalog] = await Promise.all([
      readList(context, firewalls),
      read(context.get("api").GET("/catalog")),
    ]);
    const { list: found, ...listing } = listed;
    return context.html(
      renderPage(
        <FirewallsPage
          view={view}
          firewalls={found}
          regions={catalog.regions}
          {...listing}
          banner={noticeBanner(context, view.messages.firewalls.notices)}
        />,
      ),
    );
  });

  createFirewallRoutes(routes);
  ruleRoutes(routes);
  routes.route("/", selectedRoutes(selectedFirewalls));
  firewallPageRoutes(routes);

  return routes;
}
