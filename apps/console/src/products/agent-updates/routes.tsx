import { Hono } from "hono";
import { attempt, conflictOf, type Outcome, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { AgentUpdatesPage } from "./list-page.tsx";
import { settingsFields, toSettingsBody } from "./settings-values.ts";
import { RolloutPage } from "./show-page.tsx";

const rolloutsOnPage = 20;

/** `/operator/agent-updates`: releases of the agent, their rollouts, and the settings of both. */
export function agentUpdatesRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/", (context) => showAll(context, notices(context), null, 200));
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["/settings", "/rollouts"])
    routes.get(act, (context) => context.redirect("/operator/agent-updates", 303));

  routes.post("/settings", async (context) => {
    const typed = postedValues(context, settingsFields);
    const values = { ...typed, days: context.get("form").getAll("days").join(" ") };
    const outcome = await attempt(
      context.get("api").PATCH("/agent-updates", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: toSettingsBody(values),
      }),
    );
    if (outcome.kind === "done") return context.redirect("/operator/agent-updates?notice=saved", 303);
    const { form, banner, status } = refuseForm(context, outcome, "settings", values, {
      fields: ["days", ...settingsFields],
    });
    return showAll(context, banner, form, status);
  });

  routes.post("/rollouts", async (context) => {
    const values = postedValues(context, ["version", "first_region"]);
    const outcome = await attempt(
      context.get("api").POST("/agent-rollouts", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          version: values.version,
          ...(values.first_region === "" ? {} : { first_region: values.first_region }),
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect(`${pathOf(outcome.data.id)}?notice=started`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "start", values, {
      fields: ["version", "first_region"],
    });
    return showAll(context, own(context, outcome) ?? banner, form, status);
  });

  routes.get("/rollouts/:rollout", (context) => showOne(context, notices(context), 200));
  routes.get("/rollouts/:rollout/*", (context) => context.redirect(pathOf(rolloutOf(context)), 303));

  routes.post("/rollouts/:rollout/pause", async (context) =>
    changed(
      context,
      await attempt(context.get("api").POST("/agent-rollouts/{agent_rollout_id}/pause", options(context))),
      "paused",
    ),
  );
  routes.post("/rollouts/:rollout/resume", async (context) =>
    changed(
      context,
      await attempt(context.get("api").POST("/agent-rollouts/{agent_rollout_id}/resume", options(context))),
      "resumed",
    ),
  );
  routes.post("/rollouts/:rollout/cancel", async (context) =>
    changed(
      context,
      await attempt(context.get("api").POST("/agent-rollouts/{agent_rollout_id}/cancel", options(context))),
      "cancelled",
    ),
  );
  return routes;
}

type Refused = Exclude<Outcome<unknown>, { readonly kind: "done" }>;

const rolloutOf = (context: ConsoleContext) => context.req.param("rollout") ?? "";

const pathOf = (id: string) => `/operator/agent-updates/rollouts/${encodeURIComponent(id)}`;

const options = (context: ConsoleContext) => ({
  params: {
    path: { agent_rollout_id: rolloutOf(context) },
    header: { "Idempotency-Key": postedKey(context) },
  },
});

const notices = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.agentUpdates.notices);

async function changed(context: ConsoleContext, outcome: Outcome<unknown>, notice: string) {
  if (outcome.kind === "done") return context.redirect(`${pathOf(rolloutOf(context))}?notice=${notice}`, 303);
  const { banner, status } = refuseForm(context, outcome, "change", {}, {});
  return showOne(context, own(context, outcome) ?? banner, status);
}

/** What prevents it, in the page's language: the texts of all conflicts say less. */
function own(context: ConsoleContext, outcome: Refused): PageBanner {
  const { precondition } = conflictOf(outcome);
  const { preconditions } = context.get("view").messages.agentUpdates;
  const text = precondition === undefined ? undefined : preconditions[precondition.name];
  return text === undefined ? null : { kind: "problem", text };
}

async function showAll(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
): Promise<Response> {
  const api = context.get("api");
  const cursor = context.req.query("cursor") || undefined;
  const query = { limit: rolloutsOnPage, ...(cursor === undefined ? {} : { cursor }) };
  const [releases, settings, rollouts, regions] = await Promise.all([
    read(api.GET("/agent-releases")),
    read(api.GET("/agent-updates")),
    read(api.GET("/agent-rollouts", { params: { query } })),
    readAll((page) => api.GET("/regions", { params: { query: page } })),
  ]);
  return context.html(
    renderPage(
      <AgentUpdatesPage
        view={context.get("view")}
        releases={releases}
        settings={settings}
        rollouts={rollouts}
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

async function showOne(
  context: ConsoleContext,
  banner: PageBanner,
  status: 200 | 409 | 422,
): Promise<Response> {
  const path = { agent_rollout_id: rolloutOf(context) };
  const rollout = await read(
    context.get("api").GET("/agent-rollouts/{agent_rollout_id}", { params: { path } }),
  );
  return context.html(
    renderPage(
      <RolloutPage
        view={context.get("view")}
        rollout={rollout}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
