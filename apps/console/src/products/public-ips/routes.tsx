import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { PublicIpsPage } from "./list-page.tsx";
import { publicIps } from "./resource.ts";
import { selectedPublicIps } from "./selected.tsx";
import { PublicIpPage } from "./show-page.tsx";

const takeFields = [
  "labels",
  "region",
  "version",
  "address",
  "ptr",
  "delete_with_server",
  "protect",
] as const;

export function publicIpRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/public-ips", (context) => showList(context, banner(context), null, 200));

  routes.post("/public-ips", async (context) => {
    const values = postedValues(context, takeFields);
    const outcome = await attempt(
      context.get("api").POST("/public-ips", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          ...(values.region === "" ? {} : { region: values.region }),
          version: values.version === "6" ? 6 : 4,
          ...(values.address === "" ? {} : { address: values.address }),
          ...(values.ptr === "" ? {} : { ptr: values.ptr }),
          ...(values.delete_with_server === "" ? {} : { delete_with_server: true }),
          ...(values.protect === "" ? {} : { protection: { delete: true } }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/public-ips/${outcome.data.id}?notice=taken`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "take", values, {
      fields: takeFields,
      conflicts: values.address === "" ? {} : { no_public_ip_available: "address" },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return showList(context, banner, form, status);
  });

  routes.route("/", selectedRoutes(selectedPublicIps));
  routes.get("/public-ips/:public_ip_id", (context) => showPublicIp(context, banner(context), null, 200));
  changeRoutes(routes, publicIps, {
    show: showPublicIp,
    changed: "changed",
    deleted: { pathOf: () => "/public-ips", notice: "released" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/public-ips/:public_ip_id/*", (context) =>
    context.redirect(`/public-ips/${context.req.param("public_ip_id")}`, 303),
  );

  routes.post("/public-ips/:public_ip_id/attach", async (context) => {
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/attach", {
        params: targetOf(context),
        body: { server_id: form.get("server_id") ?? "", force: form.has("force") },
      }),
    );
    return answer(context, { outcome, notice: "attaching", of: "attach" });
  });

  routes.post("/public-ips/:public_ip_id/detach", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/detach", { params: targetOf(context) }),
    );
    return answer(context, { outcome, notice: "detaching", of: "detach" });
  });

  return routes;
}

const pathOf = (context: ConsoleContext) => ({ public_ip_id: context.req.param("public_ip_id") ?? "" });

const targetOf = (context: ConsoleContext) => ({
  path: pathOf(context),
  header: { "Idempotency-Key": postedKey(context) },
});

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.publicIps.notices);

const answer = answersOf((context) => `/public-ips/${context.req.param("public_ip_id")}`, showPublicIp);

async function showList(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const [listed, catalog] = await Promise.all([readList(context, publicIps), read(api.GET("/catalog"))]);
  const { list: found, ...listing } = listed;
  return context.html(
    renderPage(
      <PublicIpsPage
        view={view}
        ips={found}
        regions={catalog.regions}
        {...listing}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}

async function showPublicIp(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const ip = await read(api.GET("/public-ips/{public_ip_id}", { params: { path: pathOf(context) } }));
  const view = context.get("view");
  // Many servers take several requests at each refresh, so they are read only for roles that can choose one.
  const servers =
    disabledReason({ view, ip }, "attach") === null
      ? await readAll((page) =>
          api.GET("/servers", {
            params: { query: { ...page, region: ip.region, sort: "name", status: ["running", "stopped"] } },
          }),
        )
      : { items: [] };
  return context.html(
    renderPage(
      <PublicIpPage
        view={view}
        ip={ip}
        servers={servers.items}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
