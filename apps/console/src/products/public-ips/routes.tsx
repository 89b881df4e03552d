import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createPublicIpRoutes } from "./create-routes.tsx";
import { PublicIpsPage } from "./list-page.tsx";
import { publicIps } from "./resource.ts";
import { selectedPublicIps } from "./selected.tsx";
import { publicIpPageRoutes } from "./show-routes.tsx";

export function publicIpRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/public-ips", showList);
  createPublicIpRoutes(routes);
  routes.route("/", selectedRoutes(selectedPublicIps));
  publicIpPageRoutes(routes);
  return routes;
}

async function showList(context: ConsoleContext) {
  const view = context.get("view");
  const [{ list, ...listing }, catalog] = await Promise.all([
    readList(context, publicIps),
    read(context.get("api").GET("/catalog")),
  ]);
  return context.html(
    renderPage(
      <PublicIpsPage
        view={view}
        ips={list}
        regions={catalog.regions}
        {...listing}
        banner={noticeBanner(context, view.messages.publicIps.notices)}
      />,
    ),
  );
}
