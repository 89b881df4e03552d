import { type Context, Hono } from "hono";
import { attempt, conflictOf, type Outcome, read } from "../../api.ts";
import { type ConsoleEnv, noticeOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { fieldProblems, problemText } from "../../problem-messages.ts";
import type { NetworkFormState } from "./create-forms.tsx";
import { NetworksPage } from "./list-page.tsx";
import { networkPageRoutes } from "./network-routes.tsx";
import { inAddressOrder } from "./subnet-order.ts";

type Banner = { readonly kind: "notice" | "problem"; readonly text: string } | null;

const fieldOf = (known: readonly string[]) => (pointer: string) =>
  known.find((field) => `/${field}` === pointer) ?? null;

export function networkRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/networks", (context) => {
    const notice = noticeOf(context, context.get("view").messages.networks.notices);
    return showNetworks(context, notice === null ? null : { kind: "notice", text: notice }, null, 200);
  });

  routes.post("/networks", async (context) => {
    const values = valuesOf(context, ["name", "region", "cidr", "description"]);
    const outcome = await attempt(
      context.get("api").POST("/networks", {
        params: { header: { "Idempotency-Key": idempotencyKeyOf(context) } },
        body: {
          name: values.name ?? "",
          ...given("region", values.region),
          ...given("cidr", values.cidr),
          ...given("description", values.description),
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/networks/${outcome.data.network.id}?notice=created`, 303);
    return showRefused(context, outcome, { of: "network", values });
  });

  networkPageRoutes(routes);

  return routes;
}

function given<Name extends string>(name: Name, value: string | undefined): { [key in Name]?: string } {
  return (value === undefined || value === "" ? {} : { [name]: value }) as { [key in Name]?: string };
}

function valuesOf(context: Context<ConsoleEnv>, names: readonly string[]): Record<string, string> {
  const form = context.get("form");
  return Object.fromEntries(names.map((name) => [name, (form.get(name) ?? "").trim()]));
}

function idempotencyKeyOf(context: Context<ConsoleEnv>): string {
  return context.get("form").get("idempotency_key") || crypto.randomUUID();
}

function showRefused(
  context: Context<ConsoleEnv>,
  outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>,
  form: Omit<NetworkFormState, "problems">,
) {
  const problem = conflictOf(outcome);
  const { messages } = context.get("view");
  const { fields, rest } = fieldProblems(problem, messages, fieldOf(Object.keys(form.values)));
  const text = problem.status === 422 ? rest.join(" ") : problemText(problem, messages);
  return showNetworks(
    context,
    text === "" ? null : { kind: "problem", text },
    { ...form, problems: fields },
    problem.status === 422 ? 422 : 409,
  );
}

async function showNetworks(
  context: Context<ConsoleEnv>,
  banner: Banner,
  form: NetworkFormState | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const cursor = context.req.query("cursor") || undefined;
  const [networks, catalog] = await Promise.all([
    read(
      api.GET("/networks", {
        params: { query: { limit: 20, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    ),
    read(api.GET("/catalog")),
  ]);
  const subnets = await Promise.all(
    networks.items.map(async ({ id }) => {
      const page = await read(
        api.GET("/networks/{network_id}/subnets", {
          params: { path: { network_id: id }, query: { limit: 200 } },
        }),
      );
      return [id, inAddressOrder(page.items)] as const;
    }),
  );
  return context.html(
    renderPage(
      <NetworksPage
        view={context.get("view")}
        networks={networks}
        subnets={new Map(subnets)}
        regions={catalog.regions}
        cursor={cursor}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
