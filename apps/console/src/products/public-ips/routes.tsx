import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, orGone } from "../../form-answer.ts";
import { postedLabel, saidOfLabels, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { addressSorts, askedList, narrowedList, readListQuery } from "../../layout/list-query.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { selectedRoutes } from "../selected/selected-routes.tsx";
import { PublicIpsPage, publicIpFilters } from "./list-page.tsx";
import { selectedPublicIps } from "./selected-public-ips.tsx";
import { PublicIpPage } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

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
      said: { labels: saidOfLabels(values.labels, context.get("view").messages) },
    });
    return showList(context, banner, form, status);
  });

  routes.route("/", selectedRoutes(selectedPublicIps));
  routes.get("/public-ips/:id", (context) => showPublicIp(context, banner(context), null, 200));
  // Where a refused form was sent to, asked for again: the page that it is on.
  routes.get("/public-ips/:id/*", (context) =>
    context.redirect(`/public-ips/${context.req.param("id")}`, 303),
  );

  routes.post("/public-ips/:id/attach", async (context) => {
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/attach", {
        params: targetOf(context),
        body: { server_id: form.get("server_id") ?? "", force: form.has("force") },
      }),
    );
    return answer(context, { outcome, notice: "attaching", of: "attach" });
  });

  routes.post("/public-ips/:id/detach", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/detach", { params: targetOf(context) }),
    );
    return answer(context, { outcome, notice: "detaching", of: "detach" });
  });

  routes.post("/public-ips/:id/update", async (context) => {
    const form = context.get("form");
    const ptr = (form.get("ptr") ?? "").trim();
    const outcome = await attempt(
      context.get("api").PATCH("/public-ips/{public_ip_id}", {
        params: targetOf(context),
        body: {
          ptr: ptr === "" ? null : ptr,
          delete_with_server: form.has("delete_with_server"),
          protection: { delete: form.has("protect") },
        },
      }),
    );
    const values = Object.fromEntries(form);
    return answer(context, { outcome, notice: "changed", of: "update", values, beside: { fields: ["ptr"] } });
  });

  routes.post("/public-ips/:id/labels", async (context) => {
    const { labels, notice, values, beside } = postedLabel(context);
    const outcome = await attempt(
      context.get("api").PATCH("/public-ips/{public_ip_id}", { params: targetOf(context), body: { labels } }),
    );
    return answer(context, { outcome, notice, of: "labels", values, beside });
  });

  routes.post("/public-ips/:id/release", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/public-ips/{public_ip_id}", { params: targetOf(context) }),
    );
    const end = orGone(outcome);
    if (end.kind === "done") return context.redirect("/public-ips?notice=released", 303);
    return answer(context, { outcome: end, notice: "released", of: "release" });
  });

  return routes;
}

const pathOf = (context: ConsoleContext) => ({ public_ip_id: context.req.param("id") ?? "" });

const targetOf = (context: ConsoleContext) => ({
  path: pathOf(context),
  header: { "Idempotency-Key": postedKey(context) },
});

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.publicIps.notices);

const answer = answersOf((context) => `/public-ips/${context.req.param("id")}`, showPublicIp);

async function showList(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const query = readListQuery(new URL(context.req.url).searchParams, publicIpFilters, addressSorts);
  const [listed, catalog] = await Promise.all([
    attempt(
      api.GET("/public-ips", { params: { query: askedList(query, rowsOf(view.lists, "public_ips")) } }),
    ),
    read(api.GET("/catalog")),
  ]);
  const { list: ips, selectorProblem } = narrowedList(listed, view.messages);
  return context.html(
    renderPage(
      <PublicIpsPage
        view={view}
        ips={ips}
        regions={catalog.regions}
        query={query}
        selectorProblem={selectorProblem}
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
  // Of many servers that is several requests each time the page refreshes, so not for who cannot choose one.
  const servers =
    whyNot({ view, ip }, "attach") === null
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
