import { Hono } from "hono";
import { read, readAll } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { StuckJobsPage, stuckReasons } from "./list-stuck-jobs-page.tsx";

/** The jobs of all organisations that need an operator. */
export function stuckJobsRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/", async (context) => {
    const api = context.get("api");
    const view = context.get("view");
    const cursor = context.req.query("cursor") || undefined;
    const region = context.req.query("region") ?? "";
    const reason = stuckReasons.find((known) => known === context.req.query("reason")) ?? "";
    const [jobs, regions] = await Promise.all([
      read(
        api.GET("/operator/stuck-jobs", {
          params: {
            query: {
              limit: rowsOf(view.lists, "stuck_jobs"),
              ...(cursor === undefined ? {} : { cursor }),
              ...(region === "" ? {} : { region }),
              ...(reason === "" ? {} : { reason: [reason] }),
            },
          },
        }),
      ),
      readAll((page) => api.GET("/regions", { params: { query: page } })),
    ]);
    return context.html(
      renderPage(
        <StuckJobsPage
          view={view}
          jobs={jobs}
          regions={regions.items}
          filter={{ region, reason }}
          cursor={cursor}
        />,
      ),
    );
  });
  return routes;
}
