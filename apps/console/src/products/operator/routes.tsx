import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, conflictOf, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, typedNumber } from "../../posted-form.ts";
import { problemText } from "../../problem-messages.ts";
import { refuseForm } from "../../refused-form.ts";
import { healthRoutes } from "./health-routes.tsx";
import { importRoutes } from "./import-routes.tsx";
import { invariantsRoutes } from "./invariants-routes.tsx";
import { operatorJobsRoutes } from "./jobs-routes.tsx";
import { DriftPage, driftKinds } from "./list-drift-page.tsx";
import { RegionsPage } from "./list-regions-page.tsx";
import { lockRoutes } from "./lock-routes.tsx";
import type { FitsProps } from "./props.ts";
import { reconcileRoutes } from "./reconcile-routes.tsx";
import { regionRoutes } from "./region-routes.tsx";
import { restoreRoutes } from "./restore-routes.tsx";
import { stuckJobsRoutes } from "./stuck-jobs-routes.tsx";

/** Pages of the installation and not of an organisation: the API refuses them to all other users. */
export function operatorRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/operator/regions", (context) =>
    showRegions(context, noticeBanner(context, context.get("view").messages.operator.notices), 200),
  );

  routes.post("/operator/regions/:region/maintenance", async (context) => {
    const maintenance = context.get("form").get("maintenance") === "true";
    const outcome = await attempt(
      context.get("api").PATCH("/regions/{region}", {
        params: {
          path: { region: context.req.param("region") },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body: { maintenance },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(
        `/operator/regions?notice=${maintenance ? "maintenanceOn" : "maintenanceOff"}`,
        303,
      );
    const text = problemText(conflictOf(outcome), context.get("view").messages);
    return showRegions(context, { kind: "problem", text }, 409);
  });

  routes.get("/operator/drift", async (context) => {
    const api = context.get("api");
    const view = context.get("view");
    const cursor = context.req.query("cursor") || undefined;
    const region = context.req.query("region") ?? "";
    const kind = driftKinds.find((known) => known === context.req.query("kind")) ?? "";
    const [drift, regions, organisations] = await Promise.all([
      read(
        api.GET("/operator/drift", {
          params: {
            query: {
              limit: rowsOf(view.lists, "drift"),
              ...(cursor === undefined ? {} : { cursor }),
              ...(region === "" ? {} : { region }),
              ...(kind === "" ? {} : { kind: [kind] }),
            },
          },
        }),
      ),
      readAll((page) => api.GET("/regions", { params: { query: page } })),
      readAll((page) => api.GET("/organisations", { params: { query: page } })),
    ]);
    return context.html(
      renderPage(
        <DriftPage
          view={view}
          drift={drift}
          regions={regions.items}
          organisations={organisations.items}
          filter={{ region, kind }}
          cursor={cursor}
        />,
      ),
    );
  });

  routes.route("/operator", healthRoutes());
  routes.route("/operator/import", importRoutes(services));
  routes.route("/operator/invariants", invariantsRoutes(services));
  routes.route("/operator/regions", regionRoutes(services));
  routes.route("/operator/restore", restoreRoutes());
  routes.route("/operator/servers", lockRoutes());
  routes.route("/operator/servers", reconcileRoutes());
  routes.route("/operator/jobs", operatorJobsRoutes());
  routes.route("/operator/stuck-jobs", stuckJobsRoutes());
  return routes;
}

async function showRegions(context: ConsoleContext, banner: PageBanner, status: 200 | 409) {
  const api = context.get("api");
  const [regions, drift, organisations] = await Promise.all([
    read(api.GET("/regions", { params: { query: { limit: 50 } } })),
    read(api.GET("/operator/drift", { params: { query: { limit: 100 } } })),
    readAll((page) => api.GET("/organisations", { params: { query: page } })),
  ]);
  const known = await Promise.all(
    regions.items.map(async (region) => ({
      region,
      capacity: await read(
        api.GET("/regions/{region}/capacity", { params: { path: { region: region.slug } } }),
      ),
    })),
  );
  const view = context.get("view");
  const differences = drift.items.length;
  return context.html(
    renderPage(
      <RegionsPage
        view={view}
        known={known}
        driftCount={
          differences === 0
            ? null
            : `${view.format.number(differences)}${drift.next_cursor === null ? "" : "+"}`
        }
        regions={regions.items}
        organisations={organisations.items}
        {...(await askWhetherItFits(context, organisations.items))}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}

/** The capacity question of the address, for the organisation that it names: the visible regions depend on it. */
async function askWhetherItFits(
  context: ConsoleContext,
  organisations: readonly Schemas["Organisation"][],
): Promise<Pick<FitsProps, "catalog" | "asked">> {
  const api = context.get("api");
  const query = (name: string) => context.req.query(name) ?? "";
  const wanted = query("organisation") || context.get("session")?.organisation?.id;
  const organisation = organisations.find(({ id }) => id === wanted) ?? organisations[0];
  if (organisation === undefined) return { catalog: null, asked: null };
  const header = { "Kule-Organisation": organisation.id };
  const catalog = await read(api.GET("/catalog", { params: { header } }));
  if (query("image") === "") return { catalog, asked: null };
  const values = {
    region: query("region"),
    image: query("image"),
    package: query("package"),
    count: query("count").trim(),
    organisation: organisation.id,
  };
  const outcome = await attempt(
    api.POST("/catalog/check", {
      params: { header },
      body: {
        region: values.region,
        image: values.image,
        package: values.package,
        ...(values.count === "" ? {} : { count: typedNumber(values.count) }),
      },
    }),
  );
  if (outcome.kind === "done")
    return {
      catalog,
      asked: { form: { of: "fits", values, problems: {} }, answer: outcome.data, problem: null },
    };
  const { form, banner } = refuseForm(context, outcome, "fits", values, {
    fields: ["region", "image", "package", "count"],
  });
  return { catalog, asked: { form, answer: null, problem: banner?.text ?? null } };
}
