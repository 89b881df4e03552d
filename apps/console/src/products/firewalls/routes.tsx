import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readList } from "../../resources/read-list.ts";
import { answerQuestion } from "../networks/reach-question.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { type Start, startingRules } from "./create-form.tsx";
import { FirewallsPage } from "./list-page.tsx";
import { readPlaces } from "./places.ts";
import { firewalls } from "./resource.ts";
import { ruleRoutes } from "./rule-routes.tsx";
import { selectedFirewalls } from "./selected.tsx";
import { FirewallPage } from "./show-page.tsx";

const createFields = ["labels", "name", "region", "start", "description"] as const;

export function firewallRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/firewalls", (context) => showList(context, banner(context), null, 200));

  routes.post("/firewalls", async (context) => {
    const values = postedValues(context, createFields);
    const rules = startingRules[values.start as Start] ?? [];
    const outcome = await attempt(
      context.get("api").POST("/firewalls", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          ...(values.region === "" ? {} : { region: values.region }),
          ...(values.description === "" ? {} : { description: values.description }),
          ...typedLabels(values.labels),
          rules: structuredClone(rules) as unknown as NonNullable<RequestBody<"createFirewall">["rules"]>,
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/firewalls/${outcome.data.firewall.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "firewall", values, {
      fields: ["labels", "name", "region", "description"],
      conflicts: { name_taken: "name" },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return showList(context, banner, form, status);
  });

  ruleRoutes(routes);

  routes.route("/", selectedRoutes(selectedFirewalls));
  routes.get("/firewalls/:firewall_id", (context) => showFirewall(context, banner(context), null, 200));
  changeRoutes(routes, firewalls, {
    show: showFirewall,
    changed: "changed",
    deleted: { pathOf: () => "/firewalls", notice: "deleted" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get("/firewalls/:firewall_id/*", (context) =>
    context.redirect(`/firewalls/${context.req.param("firewall_id")}`, 303),
  );

  routes.post("/firewalls/:firewall_id/attach", async (context) => {
    const values = postedValues(context, ["target", "selector"]);
    const outcome = await attempt(
      context.get("api").POST("/firewalls/{firewall_id}/attachments", {
        ...options(context),
        body: targetOf(values),
      }),
    );
    return answer(context, {
      outcome,
      notice: "attached",
      of: "attach",
      values,
      errorPlaces: { everything: "target" },
    });
  });

  routes.post("/firewalls/:firewall_id/detach", async (context) => {
    const { params } = options(context);
    const id = context.get("form").get("attachment_id") ?? "";
    const outcome = await attempt(
      context.get("api").DELETE("/firewalls/{firewall_id}/attachments/{firewall_attachment_id}", {
        params: { ...params, path: { ...params.path, firewall_attachment_id: id } },
      }),
    );
    return answer(context, { outcome: doneIfAbsent(outcome), notice: "detached", of: "detach" });
  });

  routes.post("/firewalls/:firewall_id/apply", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/firewalls/{firewall_id}/apply", options(context)),
    );
    const notice = outcome.kind === "done" && outcome.data.job_ids.length === 0 ? "appliedNone" : "applied";
    return answer(context, { outcome, notice, of: "apply" });
  });

  return routes;
}

function targetOf(values: { readonly target: string; readonly selector: string }): Schemas["FirewallAttach"] {
  if (values.target === "labels") return { label_selector: values.selector };
  if (values.target === "") return {};
  return values.target.startsWith("sub_") ? { subnet_id: values.target } : { server_id: values.target };
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { firewall_id: context.req.param("firewall_id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.firewalls.notices);

const answer = answersOf((context) => `/firewalls/${context.req.param("firewall_id")}`, showFirewall);

async function showList(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const view = context.get("view");
  const [listed, catalog, servers, networks] = await Promise.all([
    readList(context, firewalls),
    read(api.GET("/catalog")),
    readAll((page) => api.GET("/servers", { params: { query: page } })),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
  ]);
  const { list: found, ...listing } = listed;
  return context.html(
    renderPage(
      <FirewallsPage
        view={view}
        firewalls={found}
        places={{ servers: servers.items, networks: networks.items, firewalls: found.items }}
        regions={catalog.regions}
        {...listing}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}

async function showFirewall(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = { firewall_id: context.req.param("firewall_id") ?? "" };
  const firewall = await read(api.GET("/firewalls/{firewall_id}", { params: { path } }));
  const [places, asked] = await Promise.all([
    readPlaces(context, firewall.region),
    answerQuestion(context, (body) => api.POST("/firewalls/{firewall_id}/test", { params: { path }, body })),
  ]);
  return context.html(
    renderPage(
      <FirewallPage
        view={context.get("view")}
        firewall={firewall}
        places={places}
        asked={asked}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
