import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { answerQuestion } from "../networks/reach-question.ts";
import { readPlaces } from "./places.ts";
import { firewalls } from "./resource.ts";
import { OverviewPage, SettingsPage } from "./show-page.tsx";

/** One firewall: its rules and attachments with the test, and its settings. */
export function firewallPageRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/firewalls/:firewall_id";
  routes.get(page, (context) => showOverview(context, notice(context), null, 200));
  routes.get(`${page}/settings`, (context) => showSettings(context, notice(context), null, 200));
  changeRoutes(routes, firewalls, {
    show: showSettings,
    changed: "changed",
    deleted: { pathOf: () => "/firewalls", notice: "deleted" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["attach", "detach", "apply"])
    routes.get(`${page}/${act}`, (context) => context.redirect(pathOf(context), 303));

  routes.post(`${page}/attach`, async (context) => {
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

  routes.post(`${page}/detach`, async (context) => {
    const { params } = options(context);
    const id = context.get("form").get("attachment_id") ?? "";
    const outcome = await attempt(
      context.get("api").DELETE("/firewalls/{firewall_id}/attachments/{firewall_attachment_id}", {
        params: { ...params, path: { ...params.path, firewall_attachment_id: id } },
      }),
    );
    return answer(context, { outcome: doneIfAbsent(outcome), notice: "detached", of: "detach" });
  });

  routes.post(`${page}/apply`, async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/firewalls/{firewall_id}/apply", options(context)),
    );
    const notice = outcome.kind === "done" && outcome.data.job_ids.length === 0 ? "appliedNone" : "applied";
    return answer(context, { outcome, notice, of: "apply" });
  });
}

function targetOf(values: { readonly target: string; readonly selector: string }): Schemas["FirewallAttach"] {
  if (values.target === "labels") return { label_selector: values.selector };
  if (values.target === "") return {};
  return values.target.startsWith("sub_") ? { subnet_id: values.target } : { server_id: values.target };
}

const idOf = (context: ConsoleContext) => ({ firewall_id: context.req.param("firewall_id") ?? "" });

const pathOf = (context: ConsoleContext) => `/firewalls/${idOf(context).firewall_id}`;

const options = (context: ConsoleContext) => ({
  params: { path: idOf(context), header: { "Idempotency-Key": postedKey(context) } },
});

const notice = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.firewalls.notices);

const answer = answersOf(pathOf, showOverview);

async function showOverview(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const path = idOf(context);
  const firewall = await read(api.GET("/firewalls/{firewall_id}", { params: { path } }));
  const [places, asked] = await Promise.all([
    readPlaces(context, firewall.region),
    answerQuestion(context, (body) => api.POST("/firewalls/{firewall_id}/test", { params: { path }, body })),
  ]);
  return context.html(
    renderPage(
      <OverviewPage
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

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const firewall = await read(api.GET("/firewalls/{firewall_id}", { params: { path: idOf(context) } }));
  const { region } = firewall;
  const { items } = await readAll((page) =>
    api.GET("/firewalls", { params: { query: { ...page, region } } }),
  );
  return context.html(
    renderPage(
      <SettingsPage
        view={context.get("view")}
        firewall={firewall}
        others={items.filter(({ id }) => id !== firewall.id)}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
