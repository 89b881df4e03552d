import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createGatewayRoutes } from "./create-routes.tsx";
import { GatewaysPage } from "./list-page.tsx";
import { gateways } from "./resource.ts";
import { selectedGateways } from "./selected.tsx";
import { GatewayPage } from "./show-page.tsx";

const forwardFields = ["protocol", "listen_port", "server_id", "target_port", "description"] as const;

export function gatewayRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/gateways", (context) => showList(context, banner(context)));
  createGatewayRoutes(routes);

  routes.route("/", selectedRoutes(selectedGateways));
  routes.get("/gateways/:gateway_id", (context) => showGateway(context, banner(context), null, 200));
  changeRoutes(routes, gateways, {
    show: showGateway,
    changed: "changed",
    deleted: { pathOf: ({ req }) => `/gateways/${req.param("gateway_id")}`, notice: "deleting" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/gateways/:gateway_id/*", (context) =>
    context.redirect(`/gateways/${context.req.param("gateway_id")}`, 303),
  );

  routes.post("/gateways/:gateway_id/serve", async (context) => {
    const values = postedValues(context, ["subnet_id"]);
    const outcome = await attempt(
      context.get("api").POST("/gateways/{gateway_id}/subnets", { ...options(context), body: values }),
    );
    return answer(context, { outcome, notice: "served", of: "serve", values });
  });

  routes.post("/gateways/:gateway_id/unserve", async (context) => {
    const { params } = options(context);
    const { subnet_id } = postedValues(context, ["subnet_id"]);
    const outcome = await attempt(
      context.get("api").DELETE("/gateways/{gateway_id}/subnets/{subnet_id}", {
        params: { ...params, path: { ...params.path, subnet_id } },
      }),
    );
    return answer(context, { outcome: doneIfAbsent(outcome), notice: "unserved", of: "unserve" });
  });

  routes.post("/gateways/:gateway_id/forward", async (context) => {
    const values = postedValues(context, forwardFields);
    const { target_port, description } = values;
    const outcome = await attempt(
      context.get("api").POST("/gateways/{gateway_id}/port-forwards", {
        ...options(context),
        body: {
          protocol: values.protocol as "tcp",
          listen_port: typedNumber(values.listen_port),
          server_id: values.server_id,
          ...(target_port === "" ? {} : { target_port: typedNumber(target_port) }),
          ...(description === "" ? {} : { description }),
        },
      }),
    );
    return answer(context, {
      outcome,
      notice: "forwarded",
      of: "forward",
      values,
      errorPlaces: {
        fields: forwardFields,
        conflicts: { port_in_use: "listen_port", subnet_no_egress: "server_id" },
      },
    });
  });

  routes.post("/gateways/:gateway_id/unforward", async (context) => {
    const { params } = options(context);
    const { port_forward_id } = postedValues(context, ["port_forward_id"]);
    const outcome = await attempt(
      context.get("api").DELETE("/gateways/{gateway_id}/port-forwards/{port_forward_id}", {
        params: { ...params, path: { ...params.path, port_forward_id } },
      }),
    );
    return answer(context, { outcome: doneIfAbsent(outcome), notice: "unforwarded", of: "unforward" });
  });

  return routes;
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { gateway_id: context.req.param("gateway_id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.gateways.notices);

const answer = answersOf((context) => `/gateways/${context.req.param("gateway_id")}`, showGateway);

async function showList(context: ConsoleContext, banner: PageBanner) {
  const api = context.get("api");
  const view = context.get("view");
  const [listed, all, networks, catalog] = await Promise.all([
    readList(context, gateways),
    // Independent of the filters: a network has at most one gateway.
    readAll((page) => api.GET("/gateways", { params: { query: page } })),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    read(api.GET("/catalog")),
  ]);
  const { list: found, ...listing } = listed;
  const page = (
    <GatewaysPage
      view={view}
      gateways={found}
      networks={networks.items}
      without={networks.items.filter(({ id }) => all.items.every(({ network_id }) => network_id !== id))}
      regions={catalog.regions}
      {...listing}
      banner={banner}
    />
  );
  return context.html(renderPage(page));
}

async function showGateway(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = { gateway_id: context.req.param("gateway_id") ?? "" };
  const [gateway, forwards] = await Promise.all([
    read(api.GET("/gateways/{gateway_id}", { params: { path } })),
    readAll((page) => api.GET("/gateways/{gateway_id}/port-forwards", { params: { path, query: page } })),
  ]);
  const [servers, network] = await Promise.all([
    readAll((page) =>
      api.GET("/servers", { params: { query: { ...page, region: gateway.region, sort: "name" } } }),
    ),
    read(api.GET("/networks/{network_id}", { params: { path: { network_id: gateway.network_id } } })),
  ]);
  return context.html(
    renderPage(
      <GatewayPage
        view={context.get("view")}
        gateway={gateway}
        network={network}
        forwards={forwards.items}
        servers={servers.items}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
