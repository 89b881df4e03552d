import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createRoutes } from "./create-routes.tsx";
import { CertificatesPage } from "./list-page.tsx";
import { materialRoutes } from "./material-routes.tsx";
import { certificateNotice } from "./read-tab.ts";
import { certificates } from "./resource.ts";
import { selectedCertificates } from "./selected.tsx";
import { showRoutes } from "./show-routes.tsx";

export function certificateRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/certificates", showList);
  createRoutes(routes);
  routes.route("/", selectedRoutes(selectedCertificates));
  materialRoutes(routes);
  showRoutes(routes);
  return routes;
}

async function showList(context: ConsoleContext) {
  const [listed, catalog] = await Promise.all([
    readList(context, certificates),
    read(context.get("api").GET("/catalog")),
  ]);
  const { list, ...listing } = listed;
  return context.html(
    renderPage(
      <CertificatesPage
        view={context.get("view")}
        certificates={list}
        regions={catalog.regions}
        {...listing}
        banner={certificateNotice(context)}
      />,
    ),
  );
}
