import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, conflictOf, type Problem, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { postedKey } from "../../posted-form.ts";
import { refusalOf } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { readCertificates } from "./certificate-choices.ts";
import { CreatePage } from "./create-page.tsx";
import {
  type CreateForm,
  createBody,
  createFieldOf,
  fitted,
  freshCreateForm,
  networkOf,
  readCreateForm,
} from "./create-values.ts";
import type { CreatePageProps } from "./props.ts";

type Choices = Pick<CreatePageProps, "catalog" | "networks" | "publicIps" | "certificates">;

/** `/load-balancers/new`: the form, its live check, and the creation. */
export function createRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/load-balancers/new", async (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "load_balancer:write")) return forbidden(context, []);
    const query = new URL(context.req.url).searchParams;
    // An address may contain choices: the way back after a session ended.
    const form = query.has("name") ? readCreateForm(query) : freshCreateForm;
    return showChecked(context, form);
  });
  routes.get("/load-balancers/new/preview", (context) => context.redirect("/load-balancers/new", 303));

  // The requests of the page while a person fills in the form.
  routes.post("/load-balancers/new/preview", (context) =>
    showChecked(context, readCreateForm(context.get("form"))),
  );

  routes.post("/load-balancers/new", async (context) => {
    const form = readCreateForm(context.get("form"));
    if (context.get("form").get("intent") === "check") return showChecked(context, form);
    const outcome = await attempt(
      context.get("api").POST("/load-balancers", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: createBody(form),
      }),
    );
    if (outcome.kind === "done") {
      const { load_balancer } = outcome.data as Schemas["LoadBalancerAndJob"];
      return context.redirect(`/load-balancers/${load_balancer.id}?notice=created`, 303);
    }
    const choices = await loadChoices(context);
    return show(context, choices, form, { check: "refused", problem: conflictOf(outcome), isSent: true });
  });
}

async function showChecked(context: ConsoleContext, typed: CreateForm) {
  const choices = await loadChoices(context);
  const { networks, publicIps, certificates, catalog } = choices;
  const form = fitted(typed, { networks, publicIps, certificates, packages: catalog.packages });
  const check = await dryRun(context, form);
  const isRefused = typeof check === "object" && "request_id" in check;
  return show(context, choices, form, {
    check: isRefused ? "refused" : check,
    problem: isRefused ? check : null,
    isSent: false,
  });
}

/** The dry run, when there is enough for one. */
async function dryRun(
  context: ConsoleContext,
  form: CreateForm,
): Promise<CreatePageProps["check"] | Problem> {
  if (form.name === "" || form.subnet_id === "") return "unchecked";
  const outcome = await attempt(
    context.get("api").POST("/load-balancers", {
      params: { query: { dry_run: true } },
      body: createBody(form),
    }),
  );
  if (outcome.kind === "done") return outcome.data as unknown as Schemas["LoadBalancerDryRun"];
  return outcome.kind === "away" ? "away" : conflictOf(outcome);
}

async function loadChoices(context: ConsoleContext): Promise<Choices> {
  const api = context.get("api");
  const [catalog, networks, publicIps, certificates] = await Promise.all([
    read(api.GET("/catalog")),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    readAll((page) => api.GET("/public-ips", { params: { query: page } })),
    readCertificates(context),
  ]);
  return { catalog, networks: networks.items, publicIps: publicIps.items, certificates };
}

type Extra = {
  readonly check: CreatePageProps["check"];
  readonly problem: Problem | null;
  readonly isSent: boolean;
};

async function show(context: ConsoleContext, choices: Choices, form: CreateForm, extra: Extra) {
  const view = context.get("view");
  const network = networkOf(form.subnet_id, choices.networks);
  const servers =
    network === undefined
      ? { items: [] }
      : await readAll((page) =>
          context
            .get("api")
            .GET("/servers", { params: { query: { ...page, region: network.region, sort: "name" } } }),
        );
  const inNetwork = servers.items.filter(({ interfaces }) =>
    interfaces.some((nic) => network?.subnets.some(({ id }) => id === nic.subnet_id)),
  );
  const refusal =
    extra.problem === null
      ? null
      : refusalOf(
          extra.problem,
          view,
          "create",
          {},
          {
            fields: (pointer) => createFieldOf(form, pointer),
            conflicts: {
              name_taken: "name",
              no_public_ip_available: "public_ip",
              subnet_exhausted: "subnet_id",
            },
            said: { labels: labelErrorText(form.labels, view.messages) },
          },
        );
  return context.html(
    renderPage(
      <CreatePage
        {...choices}
        view={view}
        servers={inNetwork}
        form={form}
        problems={refusal?.form.problems ?? noProblems}
        banner={refusal?.banner ?? null}
        check={extra.check}
        isSent={extra.isSent}
        isOpened={context.req.method === "GET"}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    extra.isSent ? (refusal?.status ?? 200) : 200,
  );
}
