import { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  sessionOf,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { safeReturnPath } from "../../session.ts";
import { monthOf } from "../usage/month.ts";
import { createOrganisationRoutes } from "./create-routes.tsx";
import { OrganisationsPage } from "./list-page.tsx";
import { typedLimits } from "./quota-amounts.ts";
import { OrganisationPage } from "./show-page.tsx";

/** For operators: the choice of the organisation to act in, and its quotas. The API refuses all other users. */
export function organisationRoutes({ cookies }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/organisations", showList);

  routes.post("/organisations", async (context) => {
    const form = context.get("form");
    const chosen = await read(
      context.get("api").GET("/organisations/{organisation_id}", {
        params: { path: { organisation_id: form.get("organisation_id") ?? "" } },
      }),
    );
    await cookies.writeSession(context, {
      ...sessionOf(context),
      organisation: { id: chosen.id, name: chosen.name },
    });
    return context.redirect(safeReturnPath(form.get("return_to")), 303);
  });

  createOrganisationRoutes(routes);

  routes.get("/organisations/:id", (context) => {
    const { notices } = context.get("view").messages.organisations;
    return showOne(context, noticeBanner(context, notices), null, 200);
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/organisations/:id/*", (context) =>
    context.redirect(`/organisations/${context.req.param("id")}`, 303),
  );

  routes.post("/organisations/:id/quotas", async (context) => {
    const id = context.req.param("id");
    const api = context.get("api");
    const form = context.get("form");
    const { items } = await read(api.GET("/quotas", { params: { header: { "Kule-Organisation": id } } }));
    // Only the fields of the form: a quota that the form does not have stays unchanged.
    const posted = items.filter(({ name }) => form.has(name));
    const values = postedValues(
      context,
      posted.map(({ name }) => name),
    );
    const outcome = await attempt(
      api.PUT("/organisations/{organisation_id}/quotas", {
        params: {
          path: { organisation_id: id },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: { limits: typedLimits(posted, (name) => (form.get(name) ?? "").trim()) },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/organisations/${id}?notice=quotas`, 303);
    const refused = refuseForm(context, outcome, "quotas", values, { fields: Object.keys(values) });
    return showOne(context, refused.banner, refused.form, refused.status);
  });

  routes.post("/organisations/:id/settings", async (context) => {
    const id = context.req.param("id");
    const values = postedValues(context, ["name"]);
    const outcome = await attempt(
      context.get("api").PATCH("/organisations/{organisation_id}", {
        params: { path: { organisation_id: id }, header: { "Idempotency-Key": postedKey(context) } },
        body: values,
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/organisations/${id}?notice=renamed`, 303);
    const { banner, form, status } = refuseForm(context, outcome, "settings", values, { fields: ["name"] });
    return showOne(context, banner, form, status);
  });

  routes.post("/organisations/:id/standing", async (context) => {
    const id = context.req.param("id");
    const status = context.get("form").get("status") === "suspended" ? "suspended" : "active";
    const outcome = await attempt(
      context.get("api").PATCH("/organisations/{organisation_id}", {
        params: { path: { organisation_id: id }, header: { "Idempotency-Key": postedKey(context) } },
        body: { status },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(
        `/organisations/${id}?notice=${status === "suspended" ? "suspended" : "resumed"}`,
        303,
      );
    const refused = refuseForm(context, outcome, "standing", {}, {});
    return showOne(context, refused.banner, null, refused.status);
  });

  return routes;
}

async function showList(context: ConsoleContext) {
  const view = context.get("view");
  const cursor = context.req.query("cursor") || undefined;
  const limit = rowsOf(view.lists, "organisations");
  const organisations = await read(
    context.get("api").GET("/organisations", {
      params: { query: { limit, ...(cursor === undefined ? {} : { cursor }) } },
    }),
  );
  return context.html(
    renderPage(<OrganisationsPage view={view} organisations={organisations} cursor={cursor} />),
  );
}

async function showOne(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const id = context.req.param("id") ?? "";
  const month = monthOf(undefined, view.now);
  const header = { "Kule-Organisation": id };
  const window = { from: month.from, to: month.to };
  const organisation = await read(
    api.GET("/organisations/{organisation_id}", { params: { path: { organisation_id: id } } }),
  );
  const [quotas, usage, segments] = await Promise.all([
    read(api.GET("/quotas", { params: { header } })),
    read(api.GET("/usage/summary", { params: { header, query: { ...window, group_by: "day", limit: 31 } } })),
    read(api.GET("/usage/segments", { params: { header, query: { ...window, limit: 20 } } })),
  ]);
  return context.html(
    renderPage(
      <OrganisationPage
        view={view}
        organisation={organisation}
        quotas={quotas}
        usage={usage}
        segments={segments.items}
        monthFrom={month.from}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
