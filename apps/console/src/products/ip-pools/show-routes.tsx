import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import type { PoolTabProps } from "./props.ts";
import { ipPools } from "./resource.ts";
import { OverviewPage, SettingsPage } from "./show-page.tsx";

const allocateFields = ["organisation_id", "count", "addresses"] as const;

/** One pool: its tabs, and the forms on them. */
export function ipPoolPageRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/ip-pools/:ip_pool_id", (context) => showOverview(context, banner(context), null, 200));
  routes.get("/ip-pools/:ip_pool_id/settings", (context) =>
    showSettings(context, banner(context), null, 200),
  );
  changeRoutes(routes, ipPools, {
    show: showSettings,
    changed: "renamed",
    deleted: { pathOf: () => "/ip-pools", notice: "deleted" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["ranges", "ranges/:range/remove", "allocations", "allocations/:address/withdraw"])
    routes.get(`/ip-pools/:ip_pool_id/${act}`, (context) => context.redirect(pathOf(context), 303));

  routes.post("/ip-pools/:ip_pool_id/ranges", async (context) => {
    const values = postedValues(context, ["range"]);
    const [start = "", end = ""] = values.range.split("-").map((part) => part.trim());
    const outcome = await attempt(
      context.get("api").POST("/ip-pools/{ip_pool_id}/ranges", {
        ...options(context),
        body: values.range.includes("-") ? { start, end } : { cidr: values.range },
      }),
    );
    return answer(context, {
      outcome,
      notice: "range",
      of: "range",
      values,
      errorPlaces: { everything: "range" },
    });
  });

  routes.post("/ip-pools/:ip_pool_id/ranges/:range/remove", async (context) => {
    const range = context.req.param("range");
    const { params } = options(context);
    const outcome = await attempt(
      context.get("api").DELETE("/ip-pools/{ip_pool_id}/ranges/{range_id}", {
        params: { ...params, path: { ...params.path, range_id: range } },
      }),
    );
    return answer(context, { outcome, notice: "removed", of: range, errorPlaces: { everything: "range" } });
  });

  routes.post("/ip-pools/:ip_pool_id/allocations", async (context) => {
    const values = postedValues(context, allocateFields);
    const addresses = values.addresses.split(/[\s,;]+/).filter((address) => address !== "");
    const outcome = await attempt(
      context.get("api").POST("/ip-pools/{ip_pool_id}/allocations", {
        ...options(context),
        body: {
          organisation_id: values.organisation_id,
          ...(values.count === "" ? {} : { count: typedNumber(values.count) }),
          ...(addresses.length === 0 ? {} : { addresses }),
        },
      }),
    );
    return answer(context, {
      outcome,
      notice: "allocated",
      of: "allocate",
      values,
      errorPlaces: {
        fields: allocateFields,
        conflicts: { no_public_ip_available: addresses.length === 0 ? "count" : "addresses" },
      },
    });
  });

  routes.post("/ip-pools/:ip_pool_id/allocations/:address/withdraw", async (context) => {
    const address = context.req.param("address");
    const { params } = options(context);
    const outcome = await attempt(
      context.get("api").DELETE("/ip-pools/{ip_pool_id}/allocations/{address}", {
        params: { ...params, path: { ...params.path, address } },
      }),
    );
    return answer(context, {
      outcome,
      notice: "withdrawn",
      of: address,
      errorPlaces: { everything: "address" },
    });
  });
}

const idsIn = (context: ConsoleContext) => ({ ip_pool_id: context.req.param("ip_pool_id") ?? "" });

const options = (context: ConsoleContext) => ({
  params: { path: idsIn(context), header: { "Idempotency-Key": postedKey(context) } },
});

const pathOf = (context: ConsoleContext) => `/ip-pools/${context.req.param("ip_pool_id")}`;

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.ipPools.notices);

const answer = answersOf(pathOf, showOverview);

async function showOverview(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = idsIn(context);
  const cursor = context.req.query("cursor") || undefined;
  const [props, use, ranges, allocations, organisations] = await Promise.all([
    tabProps(context, banner, form),
    read(api.GET("/ip-pools/{ip_pool_id}/utilisation", { params: { path } })),
    readAll((page) => api.GET("/ip-pools/{ip_pool_id}/ranges", { params: { path, query: page } })),
    read(
      api.GET("/ip-pools/{ip_pool_id}/allocations", {
        params: { path, query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    ),
    readAll((page) => api.GET("/organisations", { params: { query: page } })),
  ]);
  return context.html(
    renderPage(
      <OverviewPage
        {...props}
        shares={use.organisations}
        ranges={ranges.items}
        allocations={allocations}
        organisations={organisations.items}
        cursor={cursor}
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
  return context.html(renderPage(<SettingsPage {...(await tabProps(context, banner, form))} />), status);
}

/** @throws ApiRefused when the session sees no such pool */
async function tabProps(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
): Promise<PoolTabProps> {
  const path = idsIn(context);
  const pool = await read(context.get("api").GET("/ip-pools/{ip_pool_id}", { params: { path } }));
  return { view: context.get("view"), pool, form, banner, idempotencyKey: crypto.randomUUID() };
}
