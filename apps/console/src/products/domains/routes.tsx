import { Hono } from "hono";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createDomainRoutes } from "./create-routes.tsx";
import { delegationRoutes } from "./delegation-routes.tsx";
import { deleteRecordsRoutes } from "./delete-records-routes.tsx";
import { dnssecRoutes } from "./dnssec-routes.tsx";
import { importRoutes } from "./import-routes.tsx";
import { DomainsPage } from "./list-page.tsx";
import { recordRoutes } from "./record-routes.tsx";
import { domains } from "./resource.ts";
import { selectedDomains } from "./selected.tsx";
import { settingsRoutes } from "./settings-routes.tsx";

export function domainRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/domains", async (context) => {
    const view = context.get("view");
    const { list, ...listing } = await readList(context, domains);
    return context.html(
      renderPage(
        <DomainsPage
          view={view}
          domains={list}
          {...listing}
          banner={noticeBanner(context, view.messages.domains.notices)}
        />,
      ),
    );
  });

  createDomainRoutes(routes);
  routes.route("/", selectedRoutes(selectedDomains));
  recordRoutes(routes);
  deleteRecordsRoutes(routes);
  importRoutes(routes);
  delegationRoutes(routes);
  dnssecRoutes(routes);
  settingsRoutes(routes);

  return routes;
}
