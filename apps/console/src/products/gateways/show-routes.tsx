import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import type { GatewayTabProps } from "./props.ts";
import { gateways } from "./resource.ts";
import { OverviewPage, SettingsPage } from "./show-page.tsx";

const forwardFields = ["protocol", "listen_port", "server_id", "target_port", "description"] as const;

/** One gateway: its tabs, and the forms on them. */
export function gatewayPageRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/gateways/:gateway_id", (context) => showOverview(context, banner(context), null, 200));
  routes.get("/gateways/:gateway_id/settings", (context) =>
    showSettings(context, banner(context), null, 200),
  );
  changeRoutes(routes, gateways, {
    show: showSettings,
    changed: "changed",
    // The overview follows the deletion.
    deleted: { pathOf, notice: "deleting" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["serve", "unserve", "forward", "unforward"])
    routes.get(`/gateways/:gateway_id/${act}`, (context) => context.redirect(pathOf(context), 303));

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
}

const idsIn = (context: ConsoleContext) => ({ gateway_id: context.req.param("gateway_id") ?? "" });

const options = (context: ConsoleContext) => ({
  params: { path: idsIn(context), header: { "Idempotency-Key": postedKey(context) } },
});

const pathOf = (context: ConsoleContext) => `/gateways/${context.req.param("gateway_id")}`;

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.gateways.notices);

const answer = answersOf(pathOf, showOverview);

async function showOverview(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = idsIn(context);
  const [props, forwards] = await Promise.all([
    tabProps(context, banner, form),
    readAll((page) => api.GET("/gateways/{gateway_id}/port-forwards", { params: { path, query: page } })),
  ]);
  const { region, network_id } = props.gateway;
  const [servers, network] = await Promise.all([
    readAll((page) => api.GET("/servers", { params: { query: { ...page, region, sort: "name" } } })),
    read(api.GET("/networks/{network_id}", { params: { path: { network_id } } })),
  ]);
  const page = (
    <OverviewPage {...props} network={network} forwards={forwards.items} servers={servers.items} />
  );
  return context.html(renderPage(page), status);
}

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  return context.html(renderPage(<SettingsPage {...(await tabProps(context, banner, form))} />), status);
}

/** @throws ApiRefused when the session sees no such gateway */
async function tabProps(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
): Promise<GatewayTabProps> {
  const path = idsIn(context);
  const gateway = await read(context.get("api").GET("/gateways/{gateway_id}", { params: { path } }));
  return { view: context.get("view"), gateway, form, banner, idempotencyKey: crypto.randomUUID() };
}
