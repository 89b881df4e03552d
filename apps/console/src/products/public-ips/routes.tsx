import { Hono } from "hono";
import { attempt, type Outcome, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { orGone } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { addressSorts, askedList, narrowedList, readListQuery } from "../../layout/list-query.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { PublicIpsPage, publicIpFilters } from "./list-page.tsx";

const takeFields = ["region", "version", "ptr"] as const;

export function publicIpRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/public-ips", (context) =>
    show(context, noticeBanner(context, context.get("view").messages.publicIps.notices), null, 200),
  );

  routes.post("/public-ips", async (context) => {
    const values = postedValues(context, takeFields);
    const outcome = await attempt(
      context.get("api").POST("/public-ips", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          ...(values.region === "" ? {} : { region: values.region }),
          version: values.version === "6" ? 6 : 4,
          ...(values.ptr === "" ? {} : { ptr: values.ptr }),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/public-ips?notice=taken", 303);
    const { form, banner, status } = refuseForm(context, outcome, "take", values, { fields: takeFields });
    return show(context, banner, form, status);
  });

  routes.post("/public-ips/:id/attach", async (context) => {
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/attach", {
        params: targetOf(context),
        body: { server_id: form.get("server_id") ?? "", force: form.has("force") },
      }),
    );
    return answer(context, outcome, "attaching", "attach");
  });

  routes.post("/public-ips/:id/detach", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/detach", { params: targetOf(context) }),
    );
    return answer(context, outcome, "detaching", "detach");
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
    return answer(context, outcome, "changed", "update");
  });

  routes.post("/public-ips/:id/release", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/public-ips/{public_ip_id}", { params: targetOf(context) }),
    );
    return answer(context, orGone(outcome), "released", "release");
  });

  // Where a form that came back leaves the address: loading that again leads to the page.
  for (const act of ["attach", "detach", "update", "release"])
    routes.get(`/public-ips/:id/${act}`, (context) =>
      context.redirect(`/public-ips#${context.req.param("id")}`, 303),
    );

  return routes;
}

const targetOf = (context: ConsoleContext) => ({
  path: { public_ip_id: context.req.param("id") ?? "" },
  header: { "Idempotency-Key": postedKey(context) },
});

function answer(context: ConsoleContext, outcome: Outcome<unknown>, notice: string, act: string) {
  const id = context.req.param("id") ?? "";
  if (outcome.kind === "done") return context.redirect(`/public-ips?notice=${notice}#${id}`, 303);
  const typed = Object.fromEntries(context.get("form"));
  const { form, banner, status } = refuseForm(context, outcome, `${act}-${id}`, typed, { fields: ["ptr"] });
  return show(context, banner, form, status);
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const query = readListQuery(new URL(context.req.url).searchParams, publicIpFilters, addressSorts);
  const [listed, servers, catalog] = await Promise.all([
    attempt(api.GET("/public-ips", { params: { query: askedList(query, 20) } })),
    // Each address offers them, so no more of them than a page can hold twenty times.
    read(
      api.GET("/servers", {
        params: { query: { limit: 200, sort: "name", status: ["running", "stopped"] } },
      }),
    ),
    read(api.GET("/catalog")),
  ]);
  const { list: ips, selectorProblem } = narrowedList(listed, view.messages);
  return context.html(
    renderPage(
      <PublicIpsPage
        view={view}
        ips={ips}
        servers={servers.items}
        hasMoreServers={servers.next_cursor !== null}
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
