import type { Hono } from "hono";
import { read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readPlaces } from "../firewalls/places.ts";
import { answerQuestion } from "./reach-question.ts";
import { networks } from "./resource.ts";
import { OverviewPage, SettingsPage } from "./show-page.tsx";
import { inAddressOrder } from "./subnet-order.ts";

/** One network: its map with the reachability check, and its settings. */
export function networkPageRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/networks/:network_id", showOverview);
  routes.get("/networks/:network_id/settings", (context) =>
    showSettings(context, notice(context), null, 200),
  );
  changeRoutes(routes, networks, {
    show: showSettings,
    changed: "changed",
    deleted: { pathOf: () => "/networks", notice: "deleted" },
  });
}

const pathOf = (context: ConsoleContext) => ({ network_id: context.req.param("network_id") ?? "" });

const notice = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.network.notices);

async function showOverview(context: ConsoleContext) {
  const api = context.get("api");
  const path = pathOf(context);
  const [network, subnets, gateways] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path } })),
    readAll((page) => api.GET("/networks/{network_id}/subnets", { params: { path, query: page } })),
    readAll((page) => api.GET("/gateways", { params: { query: page } })),
  ]);
  const [places, asked] = await Promise.all([
    readPlaces(context, network.region),
    answerQuestion(context, (body) => api.POST("/networks/{network_id}/explain", { params: { path }, body })),
  ]);
  return context.html(
    renderPage(
      <OverviewPage
        view={context.get("view")}
        network={network}
        subnets={inAddressOrder(subnets.items)}
        places={places}
        gateway={gateways.items.find(({ network_id }) => network_id === network.id) ?? null}
        asked={asked}
        form={null}
        banner={notice(context)}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
  );
}

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const network = await read(
    context.get("api").GET("/networks/{network_id}", { params: { path: pathOf(context) } }),
  );
  return context.html(
    renderPage(
      <SettingsPage
        view={context.get("view")}
        network={network}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
