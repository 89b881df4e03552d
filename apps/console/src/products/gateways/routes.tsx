import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, orGone } from "../../form-answer.ts";
import { postedLabel } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { askedList, nameSorts, narrowedList, readListQuery } from "../../layout/list-query.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { selectedRoutes } from "../selected/selected-routes.tsx";
import { createGatewayRoutes } from "./create-routes.tsx";
import { GatewaysPage, gatewayFilters } from "./list-page.tsx";
import { selectedGateways } from "./selected-gateways.tsx";
import { GatewayPage } from "./show-page.tsx";

const forwardFields = ["protocol", "listen_port", "server_id", "target_port", "description"] as const;

export function gatewayRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/gateways", (context) => showList(context, banner(context)));
  createGatewayRoutes(routes);

  routes.route("/", selectedRoutes(selectedGateways));
  routes.get("/gateways/:id", (context) => showGateway(context, banner(context), null, 200));
  // Where a refused form was sent to, asked for again: the page that it is on.
  routes.get("/gateways/:id/*", (context) => context.redirect(`/gateways/${context.req.param("id")}`, 303));

  routes.post("/gateways/:id/settings", async (context) => {
    const values = postedValues(context, ["name", "description"]);
    const outcome = await attempt(
      context.get("api").PATCH("/gateways/{gateway_id}", { ...options(context), body: values }),
    );
    return answer(context, {
      outcome,
      notice: "changed",
      of: "settings",
      values,
      beside: {
        fields: ["name", "description"],
        conflicts: { name_taken: "name" },
      },
    });
  });

  routes.post("/gateways/:id/labels", async (context) => {
    const { labels, notice, values, beside } = postedLabel(context);
    const outcome = await attempt(
      context.get("api").PATCH("/gateways/{gateway_id}", { ...options(context), body: { labels } }),
    );
    return answer(context, { outcome, notice, of: "labels", values, beside });
  });

  routes.post("/gateways/:id/serve", async (context) => {
    const values = postedValues(context, ["subnet_id"]);
    const outcome = await attempt(
      context.get("api").POST("/gateways/{gateway_id}/subnets", { ...options(context), body: values }),
    );
    return answer(context, { outcome, notice: "served", of: "serve", values });
  });

  routes.post("/gateways/:id/unserve", async (context) => {
    const { params } = options(context);
    const { subnet_id } = postedValues(context, ["subnet_id"]);
    const outcome = await attempt(
      context.get("api").DELETE("/gateways/{gateway_id}/subnets/{subnet_id}", {
        params: { ...params, path: { ...params.path, subnet_id } },
      }),
    );
    return answer(context, { outcome: orGone(outcome), notice: "unserved", of: "unserve" });
  });

  routes.post("/gateways/:id/forward", async (context) => {
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
      beside: {
        fields: forwardFields,
        conflicts: { port_in_use: "listen_port", subnet_no_egress: "server_id" },
      },
    });
  });

  routes.post("/gateways/:id/unforward", async (context) => {
    const { params } = options(context);
    const { port_forward_id } = postedValues(context, ["port_forward_id"]);
    const outcome = await attempt(
      context.get("api").DELETE("/gateways/{gateway_id}/port-forwards/{port_forward_id}", {
        params: { ...params, path: { ...params.path, port_forward_id } },
      }),
    );
    return answer(context, { outcome: orGone(outcome), notice: "unforwarded", of: "unforward" });
  });

  routes.post("/gateways/:id/delete", async (context) => {
    const values = postedValues(context, ["confirm_name"]);
    const api = context.get("api");
    const { params } = options(context);
    const gateway = await read(api.GET("/gateways/{gateway_id}", { params: { path: params.path } }));
    if (values.confirm_name !== gateway.name) {
      const problems = { confirm_name: [context.get("view").messages.gateways.confirmMismatch] };
      return showGateway(context, null, { of: "delete", values, problems }, 422);
    }
    const outcome = await attempt(api.DELETE("/gateways/{gateway_id}", { params }));
    return answer(context, {
      outcome,
      notice: "deleting",
      of: "delete",
      values,
      beside: { everything: "confirm_name" },
    });
  });

  return routes;
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { gateway_id: context.req.param("id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.gateways.notices);

const answer = answersOf((context) => `/gateways/${context.req.param("id")}`, showGateway);

async function showList(context: ConsoleContext, banner: PageBanner) {
  const api = context.get("api");
  const view = context.get("view");
  const query = readListQuery(new URL(context.req.url).searchParams, gatewayFilters, nameSorts);
  const [listed, all, networks, catalog] = await Promise.all([
    attempt(api.GET("/gateways", { params: { query: askedList(query, rowsOf(view.lists, "gateways")) } })),
    // Whichever are shown: a network has one gateway at most.
    readAll((page) => api.GET("/gateways", { params: { query: page } })),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    read(api.GET("/catalog")),
  ]);
  const { list: gateways, selectorProblem } = narrowedList(listed, view.messages);
  const page = (
    <GatewaysPage
      view={view}
      gateways={gateways}
      networks={networks.items}
      without={networks.items.filter(({ id }) => all.items.every(({ network_id }) => network_id !== id))}
      regions={catalog.regions}
      query={query}
      selectorProblem={selectorProblem}
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
  const path = { gateway_id: context.req.param("id") ?? "" };
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
