import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, conflictOf, type Problem, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { refusalOf } from "../../refused-form.ts";
import type { Check } from "./check-outcome-part.tsx";
import { requestOptions } from "./request-options.ts";
import { ResizePage } from "./resize-page.tsx";
import { planResize, type ResizeForm, readResizeForm, toResizeBody } from "./resize-values.ts";

type Choices = {
  readonly server: Schemas["Server"];
  readonly catalog: Schemas["Catalog"];
  readonly quotas: readonly Schemas["Quota"][];
};

/** `/servers/:server_id/resize`: the available sizes beside the current one, the check, and the resize. */
export function resizeRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/servers/:server_id/resize", async (context) => {
    const choices = await loadChoices(context, context.req.param("server_id"));
    const form = readResizeForm(new URL(context.req.url).searchParams, choices.server);
    return show(context, choices, form, null);
  });

  // The requests of the page while a person chooses.
  routes.post("/servers/:server_id/resize/preview", async (context) => {
    const choices = await loadChoices(context, context.req.param("server_id"));
    return show(context, choices, readResizeForm(context.get("form"), choices.server), null);
  });

  routes.post("/servers/:server_id/resize", async (context) => {
    const id = context.req.param("server_id");
    const choices = await loadChoices(context, id);
    const form = readResizeForm(context.get("form"), choices.server);
    if (context.get("form").get("intent") !== "resize") return show(context, choices, form, null);
    const plan = planResize(form, choices.server, choices.catalog.packages);
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/resize", {
        ...requestOptions(context, id),
        body: toResizeBody(form, plan, form.wasToldOfRestart),
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/servers/${id}?notice=resized`, 303);
    return show(context, choices, form, conflictOf(outcome));
  });
}

async function loadChoices(context: ConsoleContext, id: string): Promise<Choices> {
  const api = context.get("api");
  const [server, catalog, quotas] = await Promise.all([
    read(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } })),
    read(api.GET("/catalog")),
    attempt(api.GET("/quotas")),
  ]);
  // For a role that may not read quotas, the check reports a full one.
  return { server, catalog, quotas: quotas.kind === "done" ? quotas.data.items : [] };
}

/** The dry run. It is omitted while nothing is changed, or while resizing is unavailable. */
async function dryRun(context: ConsoleContext, choices: Choices, form: ResizeForm): Promise<Check | Problem> {
  const { server, catalog } = choices;
  const plan = planResize(form, server, catalog.packages);
  if (plan?.changesNothing === true || !server.actions.resize.allowed) return "unchecked";
  const outcome = await attempt(
    context.get("api").POST("/servers/{server_id}/resize", {
      params: { path: { server_id: server.id }, query: { dry_run: true } },
      body: toResizeBody(form, plan, true),
    }),
  );
  if (outcome.kind === "done") return outcome.data as unknown as Schemas["DryRun"];
  return outcome.kind === "away" ? "away" : conflictOf(outcome);
}

async function show(context: ConsoleContext, choices: Choices, form: ResizeForm, refused: Problem | null) {
  const view = context.get("view");
  const checked: Check | Problem = refused ?? (await dryRun(context, choices, form));
  const isProblem = typeof checked === "object" && "request_id" in checked;
  const refusal = isProblem ? refusalOf(checked, view, "resize", {}, { fields: ["package"] }) : null;
  return context.html(
    renderPage(
      <ResizePage
        view={view}
        {...choices}
        form={form}
        plan={planResize(form, choices.server, choices.catalog.packages)}
        check={isProblem ? "refused" : checked}
        problems={refusal?.form.problems ?? noProblems}
        banner={refusal?.banner ?? null}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    refused === null ? 200 : refused.status === 422 ? 422 : 409,
  );
}
