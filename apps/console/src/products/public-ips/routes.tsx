import { type Context, Hono } from "hono";
import { attempt, conflictOf, type Outcome, read } from "../../api.ts";
import { type ConsoleEnv, noticeOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { fieldProblems, problemText } from "../../problem-messages.ts";
import { refusalOf } from "../servers/refused-form.ts";
import { PublicIpsPage, type PublicIpsPageProps } from "./list-page.tsx";

const takeFields = ["region", "version", "ptr"];

export function publicIpRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/public-ips", (context) => {
    const notice = noticeOf(context, context.get("view").messages.publicIps.notices);
    return show(context, notice === null ? null : { kind: "notice", text: notice }, null, 200);
  });

  routes.post("/public-ips", async (context) => {
    const posted = context.get("form");
    const values = Object.fromEntries(takeFields.map((name) => [name, (posted.get(name) ?? "").trim()]));
    const outcome = await attempt(
      context.get("api").POST("/public-ips", {
        params: { header: { "Idempotency-Key": keyOf(context) } },
        body: {
          ...(values.region === "" ? {} : { region: values.region ?? "" }),
          version: values.version === "6" ? 6 : 4,
          ...(values.ptr === "" ? {} : { ptr: values.ptr ?? "" }),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/public-ips?notice=taken", 303);
    const problem = conflictOf(outcome);
    const { messages } = context.get("view");
    const { fields, rest } = fieldProblems(
      problem,
      messages,
      (pointer) => takeFields.find((field) => `/${field}` === pointer) ?? null,
    );
    const text = problem.status === 422 ? rest.join(" ") : problemText(problem, messages);
    return show(
      context,
      text === "" ? null : { kind: "problem", text },
      { values, problems: fields },
      problem.status === 422 ? 422 : 409,
    );
  });

  routes.post("/public-ips/:id/attach", async (context) => {
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/attach", {
        params: targetOf(context),
        body: { server_id: form.get("server_id") ?? "", force: form.has("force") },
      }),
    );
    return answer(context, outcome, "attaching");
  });

  routes.post("/public-ips/:id/detach", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/detach", { params: targetOf(context) }),
    );
    return answer(context, outcome, "detaching");
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
    // Somebody else was faster: what was wanted is true.
    const isGone = outcome.kind === "refused" && outcome.problem.status === 404;
    if (isGone) return context.redirect("/public-ips?notice=released", 303);
    return answer(context, outcome, "released");
  });

  // Where a form that came back leaves the address: loading that again leads to the page.
  for (const act of ["attach", "detach", "update", "release"])
    routes.get(`/public-ips/:id/${act}`, (context) =>
      context.redirect(`/public-ips#${context.req.param("id")}`, 303),
    );

  return routes;
}

const keyOf = (context: Context<ConsoleEnv>) =>
  context.get("form").get("idempotency_key") || crypto.randomUUID();

const targetOf = (context: Context<ConsoleEnv>) => ({
  path: { public_ip_id: context.req.param("id") ?? "" },
  header: { "Idempotency-Key": keyOf(context) },
});

function answer(context: Context<ConsoleEnv>, outcome: Outcome<unknown>, notice: string, act = notice) {
  if (outcome.kind === "done")
    return context.redirect(`/public-ips?notice=${notice}#${context.req.param("id")}`, 303);
  const problem = conflictOf(outcome);
  const { form, banner } = refusalOf(
    problem,
    act,
    context.get("form"),
    { fieldOf: (pointer) => (pointer === "/ptr" ? "ptr" : null) },
    context.get("view").messages,
  );
  const refused = { ip: context.req.param("id") ?? "", form };
  const shown = banner === null ? null : ({ kind: "problem", text: banner } as const);
  return show(context, shown, null, problem.status === 422 ? 422 : 409, refused);
}

async function show(
  context: Context<ConsoleEnv>,
  banner: PublicIpsPageProps["banner"],
  form: PublicIpsPageProps["form"],
  status: 200 | 409 | 422,
  refused: PublicIpsPageProps["refused"] = null,
) {
  const api = context.get("api");
  const cursor = context.req.query("cursor") || undefined;
  const [ips, servers, catalog] = await Promise.all([
    read(
      api.GET("/public-ips", {
        params: { query: { limit: 20, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    ),
    read(api.GET("/servers", { params: { query: { limit: 200, status: ["running", "stopped"] } } })),
    read(api.GET("/catalog")),
  ]);
  return context.html(
    renderPage(
      <PublicIpsPage
        view={context.get("view")}
        ips={ips}
        servers={servers.items}
        regions={catalog.regions}
        cursor={cursor}
        form={form}
        refused={refused}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
