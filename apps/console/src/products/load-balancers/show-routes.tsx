import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { balancerIds, balancerNotice, balancerPage, changeOptions, readTab } from "./read-tab.ts";
import { readResize, resizeRoutes } from "./resize-routes.ts";
import { loadBalancers } from "./resource.ts";
import { OverviewPage } from "./show-page.tsx";
import { SettingsPage } from "./show-settings-page.tsx";

/** One load balancer: its overview and its settings, and the forms on them. */
export function showRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/load-balancers/:load_balancer_id";
  routes.get(page, (context) => showOverview(context, balancerNotice(context), null, 200));
  routes.get(`${page}/settings`, (context) => showSettings(context, balancerNotice(context), null, 200));
  changeRoutes(routes, loadBalancers, {
    show: showSettings,
    changed: "changed",
    // The overview follows the deletion.
    deleted: { pathOf: balancerPage, notice: "deleting" },
  });
  resizeRoutes(routes, showSettings);
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get(`${page}/apply`, (context) => context.redirect(balancerPage(context), 303));

  routes.post(`${page}/apply`, async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/load-balancers/{load_balancer_id}/apply", { params: changeOptions(context) }),
    );
    return answersOf(balancerPage, showOverview)(context, { outcome, notice: "applied", of: "apply" });
  });
}

export async function showOverview(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = balancerIds(context);
  const [tab, listeners, targets, health, metrics] = await Promise.all([
    readTab(context, banner, form),
    readAll((query) => api.GET("/load-balancers/{load_balancer_id}/listeners", { params: { path, query } })),
    readAll((query) => api.GET("/load-balancers/{load_balancer_id}/targets", { params: { path, query } })),
    read(api.GET("/load-balancers/{load_balancer_id}/health", { params: { path } })),
    read(api.GET("/load-balancers/{load_balancer_id}/metrics", { params: { path, query: { hours: 24 } } })),
  ]);
  const { region, network_id } = tab.balancer;
  const isNamed = [...targets.items, ...health.targets].some(({ server_id }) => server_id !== null);
  const [network, servers] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path: { network_id } } })),
    isNamed
      ? readAll((page) => api.GET("/servers", { params: { query: { ...page, region, sort: "name" } } }))
      : { items: [] },
  ]);
  return context.html(
    renderPage(
      <OverviewPage
        {...tab}
        network={network}
        listeners={listeners.items.toSorted((one, other) => one.port - other.port)}
        // The list begins with the newest.
        targets={targets.items.toReversed()}
        health={health}
        metrics={metrics}
        servers={servers.items}
      />,
    ),
    status,
  );
}

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const tab = await readTab(context, banner, form);
  const more = await readResize(context, tab, form);
  return context.html(renderPage(<SettingsPage {...tab} {...more} />), status);
}
