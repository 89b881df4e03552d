import { type Context, Hono } from "hono";
import { attempt, conflictOf, type Outcome, read } from "../../api.ts";
import { type ConsoleEnv, noticeOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { fieldProblems, problemText } from "../../problem-messages.ts";
import { IpPoolsPage, type IpPoolsPageProps } from "./list-page.tsx";

const poolFields = ["region", "name", "gateway", "prefix_length", "vlan"];

/** For operators; the API refuses everybody else. */
export function ipPoolRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/ip-pools", (context) => {
    const notice = noticeOf(context, context.get("view").messages.ipPools.notices);
    return show(context, notice === null ? null : { kind: "notice", text: notice }, null, 200);
  });

  routes.post("/ip-pools", async (context) => {
    const values = valuesOf(context, poolFields);
    const outcome = await attempt(
      context.get("api").POST("/ip-pools", {
        params: { header: { "Idempotency-Key": keyOf(context) } },
        body: {
          region: values.region ?? "",
          name: values.name ?? "",
          gateway: values.gateway ?? "",
          prefix_length: Number(values.prefix_length),
          ...(values.vlan === "" ? {} : { vlan: Number(values.vlan) }),
        },
      }),
    );
    return answer(
      context,
      outcome,
      "created",
      { of: "pool", values },
      (pointer) => poolFields.find((field) => `/${field}` === pointer) ?? null,
    );
  });

  routes.post("/ip-pools/:id/ranges", async (context) => {
    const id = context.req.param("id");
    const values = valuesOf(context, ["range"]);
    const text = values.range ?? "";
    const [start = "", end = ""] = text.split("-").map((part) => part.trim());
    const outcome = await attempt(
      context.get("api").POST("/ip-pools/{ip_pool_id}/ranges", {
        params: { path: { ip_pool_id: id }, header: { "Idempotency-Key": keyOf(context) } },
        body: text.includes("-") ? { start, end } : { cidr: text },
      }),
    );
    return answer(context, outcome, "range", { of: `${id} range`, values }, () => "range");
  });

  routes.post("/ip-pools/:id/ranges/:range/remove", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/ip-pools/{ip_pool_id}/ranges/{range_id}", {
        params: {
          path: { ip_pool_id: context.req.param("id"), range_id: context.req.param("range") },
          header: { "Idempotency-Key": keyOf(context) },
        },
      }),
    );
    return answer(context, outcome, "removed", { of: "", values: {} }, () => null);
  });

  routes.post("/ip-pools/:id/allocations", async (context) => {
    const id = context.req.param("id");
    const values = valuesOf(context, ["organisation_id", "count"]);
    const outcome = await attempt(
      context.get("api").POST("/ip-pools/{ip_pool_id}/allocations", {
        params: { path: { ip_pool_id: id }, header: { "Idempotency-Key": keyOf(context) } },
        body: { organisation_id: values.organisation_id ?? "", count: Number(values.count) },
      }),
    );
    return answer(context, outcome, "allocated", { of: `${id} allocate`, values }, () => "count");
  });

  return routes;
}

const keyOf = (context: Context<ConsoleEnv>) =>
  context.get("form").get("idempotency_key") || crypto.randomUUID();

function valuesOf(context: Context<ConsoleEnv>, names: readonly string[]): Record<string, string> {
  const form = context.get("form");
  return Object.fromEntries(names.map((name) => [name, (form.get(name) ?? "").trim()]));
}

function answer(
  context: Context<ConsoleEnv>,
  outcome: Outcome<unknown>,
  notice: string,
  form: { readonly of: string; readonly values: Readonly<Record<string, string>> },
  fieldOf: (pointer: string) => string | null,
) {
  if (outcome.kind === "done") return context.redirect(`/ip-pools?notice=${notice}`, 303);
  const problem = conflictOf(outcome);
  const { messages } = context.get("view");
  const { fields, rest } = fieldProblems(problem, messages, fieldOf);
  const text = problem.status === 422 ? rest.join(" ") : problemText(problem, messages);
  return show(
    context,
    text === "" ? null : { kind: "problem", text },
    { ...form, problems: fields },
    problem.status === 422 ? 422 : 409,
  );
}

async function show(
  context: Context<ConsoleEnv>,
  banner: IpPoolsPageProps["banner"],
  form: IpPoolsPageProps["form"],
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const cursor = context.req.query("cursor") || undefined;
  const [pools, organisations, regions] = await Promise.all([
    read(
      api.GET("/ip-pools", { params: { query: { limit: 20, ...(cursor === undefined ? {} : { cursor }) } } }),
    ),
    read(api.GET("/organisations", { params: { query: { limit: 200 } } })),
    read(api.GET("/regions", { params: { query: { limit: 200 } } })),
  ]);
  const details = await Promise.all(
    pools.items.map(async ({ id }) => {
      const path = { ip_pool_id: id };
      const [ranges, use] = await Promise.all([
        read(api.GET("/ip-pools/{ip_pool_id}/ranges", { params: { path, query: { limit: 200 } } })),
        read(api.GET("/ip-pools/{ip_pool_id}/utilisation", { params: { path } })),
      ]);
      return { id, ranges: ranges.items, shares: use.organisations };
    }),
  );
  return context.html(
    renderPage(
      <IpPoolsPage
        view={context.get("view")}
        pools={pools}
        ranges={new Map(details.map(({ id, ranges }) => [id, ranges]))}
        shares={new Map(details.map(({ id, shares }) => [id, shares]))}
        organisations={organisations.items}
        regions={regions.items.map(({ slug }) => slug)}
        cursor={cursor}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
