import { Hono } from "hono";
import { read, readAll } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createNetworkRoutes } from "./create-routes.tsx";
import { createSubnetRoutes } from "./create-subnet-routes.tsx";
import { NetworksPage } from "./list-page.tsx";
import { networks } from "./resource.ts";
import { selectedNetworks } from "./selected.tsx";
import { networkPageRoutes } from "./show-routes.tsx";
import { inAddressOrder } from "./subnet-order.ts";
import { subnetPageRoutes } from "./subnet-routes.tsx";

export function networkRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/networks", async (context) => {
    const api = context.get("api");
    const view = context.get("view");
    const [listed, catalog] = await Promise.all([readList(context, networks), read(api.GET("/catalog"))]);
    const { list: found, ...listing } = listed;
    const subnets = await Promise.all(
      found.items.map(async ({ id }) => {
        const { items } = await readAll((page) =>
          api.GET("/networks/{network_id}/subnets", { params: { path: { network_id: id }, query: page } }),
        );
        return [id, inAddressOrder(items)] as const;
      }),
    );
    return context.html(
      renderPage(
        <NetworksPage
          view={view}
          networks={found}
          subnets={new Map(subnets)}
          regions={catalog.regions}
          {...listing}
          banner={noticeBanner(context, view.messages.networks.notices)}
        />,
      ),
    );
  });

  createNetworkRoutes(routes);
  routes.route("/", selectedRoutes(selectedNetworks));
  networkPageRoutes(routes);
  createSubnetRoutes(routes);
  subnetPageRoutes(routes);

  return routes;
}
