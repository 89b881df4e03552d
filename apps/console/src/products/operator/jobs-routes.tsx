import { Hono } from "hono";
import { read, readAll } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { jobStatuses } from "../jobs/list-query.ts";
import { OperatorJobsPage } from "./list-jobs-page.tsx";

/** The jobs of all organisations, for operators. */
export function operatorJobsRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/", async (context) => {
    const api = context.get("api");
    const view = context.get("view");
    const cursor = context.req.query("cursor") || undefined;
    const region = context.req.query("region") ?? "";
    const status = jobStatuses.find((known) => known === context.req.query("status")) ?? "";
    const [jobs, regions] = await Promise.all([
      read(
        api.GET("/operator/jobs", {
          params: {
            query: {
              limit: rowsOf(view.lists, "stuck_jobs"),
              ...(cursor === undefined ? {} : { cursor }),
              ...(region === "" ? {} : { region }),
              ...(status === "" ? {} : { status: [status] }),
            },
          },
        }),
      ),
      readAll((page) => api.GET("/regions", { params: { query: page } })),
    ]);
    return context.html(
      renderPage(
        <OperatorJobsPage
          view={view}
          jobs={jobs}
          regions={regions.items}
          filter={{ region, status }}
          cursor={cursor}
        />,
      ),
    );
  });
  return routes;
}
