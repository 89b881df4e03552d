import { Hono } from "hono";
import { attempt, type Outcome, read } from "../../api.ts";
import { type ConsoleContext, type ConsoleEnv, noticeOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { type Beside, type PageBanner, type RefusedForm, refuseForm } from "../../refused-form.ts";
import { IpPoolsPage } from "./list-page.tsx";
import { PoolPage } from "./show-page.tsx";

const poolFields = ["region", "name", "gateway", "prefix_length", "vlan"] as const;
const allocateFields = ["organisation_id", "count", "addresses"] as const;

/** For operators; the API refuses everybody else. */
export function ipPoolRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/ip-pools", (context) => showList(context, noticeBanner(context), null, 200));

  routes.post("/ip-pools", async (context) => {
    const values = postedValues(context, poolFields);
    const outcome = await attempt(
      context.get("api").POST("/ip-pools", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          region: values.region,
          name: values.name,
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

  routes.get("/ip-pools/:id", (context) => showPool(context, noticeBanner(context), null, 200));
  // Where a refused form was sent to, asked for again: the page that it is on.
  routes.get("/ip-pools/:id/*", (context) => context.redirect(`/ip-pools/${context.req.param("id")}`, 303));

  routes.post("/ip-pools/:id/ranges", async (context) => {
    const values = postedValues(context, ["range"]);
    const [start = "", end = ""] = values.range.split("-").map((part) => part.trim());
    const outcome = await attempt(
      context.get("api").POST("/ip-pools/{ip_pool_id}/ranges", {
        ...options(context),
        body: values.range.includes("-") ? { start, end } : { cidr: values.range },
      }),
    );
    return answer(context, outcome, "range", "range", values, { everything: "range" });
  });

  routes.post("/ip-pools/:id/ranges/:range/remove", async (context) => {
    const range = context.req.param("range");
    const { params } = options(context);
    const outcome = await attempt(
      context.get("api").DELETE("/ip-pools/{ip_pool_id}/ranges/{range_id}", {
        params: { ...params, path: { ...params.path, range_id: range } },
      }),
    );
    return answer(context, outcome, "removed", range, {}, { everything: "range" });
  });

  routes.post("/ip-pools/:id/allocations", async (context) => {
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
    return answer(context, outcome, "allocated", "allocate", values, {
      fields: allocateFields,
      conflicts: { no_public_ip_available: addresses.length === 0 ? "count" : "addresses" },
    });
  });

  routes.post("/ip-pools/:id/allocations/:address/withdraw", async (context) => {
    const address = context.req.param("address");
    const { params } = options(context);
    const outcome = await attempt(
      context.get("api").DELETE("/ip-pools/{ip_pool_id}/allocations/{address}", {
        params: { ...params, path: { ...params.path, address } },
      }),
    );
    return answer(context, outcome, "withdrawn", address, {}, { everything: "address" });
  });

  routes.post("/ip-pools/:id/settings", async (context) => {
    const values = postedValues(context, ["name", "description"]);
    const outcome = await attempt(
      context.get("api").PATCH("/ip-pools/{ip_pool_id}", { ...options(context), body: values }),
    );
    return answer(context, outcome, "renamed", "settings", values, {
      fields: ["name", "description"],
      conflicts: { name_taken: "name" },
    });
  });

  routes.post("/ip-pools/:id/delete", async (context) => {
    const values = postedValues(context, ["confirm_name"]);
    const api = context.get("api");
    const { params } = options(context);
    const pool = await read(api.GET("/ip-pools/{ip_pool_id}", { params: { path: params.path } }));
    if (values.confirm_name !== pool.name) {
      const problems = { confirm_name: [context.get("view").messages.ipPools.confirmMismatch] };
      return showPool(context, null, { of: "delete", values, problems }, 422);
    }
    const outcome = await attempt(api.DELETE("/ip-pools/{ip_pool_id}", { params }));
    if (outcome.kind === "done") return context.redirect("/ip-pools?notice=deleted", 303);
    return answer(context, outcome, "deleted", "delete", values, { everything: "confirm_name" });
  });

  return routes;
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { ip_pool_id: context.req.param("id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

function noticeBanner(context: ConsoleContext): PageBanner {
  const text = noticeOf(context, context.get("view").messages.ipPools.notices);
  return text === null ? null : { kind: "notice", text };
}

function answer(
  context: ConsoleContext,
  outcome: Outcome<unknown>,
  notice: string,
  of: string,
  values: Readonly<Record<string, string>>,
  beside: Beside,
) {
  if (outcome.kind === "done")
    return context.redirect(`/ip-pools/${context.req.param("id")}?notice=${notice}`, 303);
  const { form, banner, status } = refuseForm(context, outcome, of, values, beside);
  return showPool(context, banner, form, status);
}

async function showList(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const cursor = context.req.query("cursor") || undefined;
  const [pools, regions] = await Promise.all([
    read(
      api.GET("/ip-pools", { params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } } }),
    ),
    read(api.GET("/regions", { params: { query: { limit: 200 } } })),
  ]);
  return context.html(
    renderPage(
      <IpPoolsPage
        view={context.get("view")}
        pools={pools}
        regions={regions.items}
        cursor={cursor}
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
  const path = { ip_pool_id: context.req.param("id") ?? "" };
  const cursor = context.req.query("cursor") || undefined;
  const [pool, use, ranges, allocations, organisations] = await Promise.all([
    read(api.GET("/ip-pools/{ip_pool_id}", { params: { path } })),
    read(api.GET("/ip-pools/{ip_pool_id}/utilisation", { params: { path } })),
    read(api.GET("/ip-pools/{ip_pool_id}/ranges", { params: { path, query: { limit: 200 } } })),
    read(
      api.GET("/ip-pools/{ip_pool_id}/allocations", {
        params: { path, query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    ),
    read(api.GET("/organisations", { params: { query: { limit: 200 } } })),
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
