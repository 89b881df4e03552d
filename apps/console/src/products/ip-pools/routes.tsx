import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readList } from "../../resources/read-list.ts";
import { IpPoolsPage } from "./list-page.tsx";
import { ipPools } from "./resource.ts";
import { PoolPage } from "./show-page.tsx";

const poolFields = ["region", "name", "description", "gateway", "prefix_length", "vlan"] as const;
const allocateFields = ["organisation_id", "count", "addresses"] as const;

/** For operators; the API refuses everybody else. */
export function ipPoolRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/ip-pools", (context) => showList(context, banner(context), null, 200));

  routes.post("/ip-pools", async (context) => {
    const values = postedValues(context, poolFields);
    const outcome = await attempt(
      context.get("api").POST("/ip-pools", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          region: values.region,
          name: values.name,
          ...(values.description === "" ? {} : { description: values.description }),
          gateway: values.gateway,
          prefix_length: typedNumber(values.prefix_length),
          ...(values.vlan === "" ? {} : { vlan: typedNumber(values.vlan) }),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/ip-pools/${outcome.data.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "pool", values, {
      fields: poolFields,
      conflicts: { name_taken: "name" },
    });
    return showList(context, banner, form, status);
  });

  routes.get("/ip-pools/:ip_pool_id", (context) => showPool(context, banner(context), null, 200));
  changeRoutes(routes, ipPools, {
    show: showPool,
    changed: "renamed",
    deleted: { pathOf: () => "/ip-pools", notice: "deleted" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/ip-pools/:ip_pool_id/*", (context) =>
    context.redirect(`/ip-pools/${context.req.param("ip_pool_id")}`, 303),
  );

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

  return routes;
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { ip_pool_id: context.req.param("ip_pool_id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.ipPools.notices);

const answer = answersOf((context) => `/ip-pools/${context.req.param("ip_pool_id")}`, showPool);

async function showList(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const [{ list: pools, query }, regions] = await Promise.all([
    readList(context, ipPools),
    readAll((page) => api.GET("/regions", { params: { query: page } })),
  ]);
  return context.html(
    renderPage(
      <IpPoolsPage
        view={view}
        pools={pools}
        regions={regions.items}
        query={query}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}

async function showPool(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = { ip_pool_id: context.req.param("ip_pool_id") ?? "" };
  const cursor = context.req.query("cursor") || undefined;
  const [pool, use, ranges, allocations, organisations] = await Promise.all([
    read(api.GET("/ip-pools/{ip_pool_id}", { params: { path } })),
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
      <PoolPage
        view={context.get("view")}
        pool={pool}
        shares={use.organisations}
        ranges={ranges.items}
        allocations={allocations}
        organisations={organisations.items}
        cursor={cursor}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
