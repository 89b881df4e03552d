import { Hono } from "hono";
import { read } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { HealthPage } from "./show-health-page.tsx";

const mostRegions = 50;
/** Of each list: the page says how many there are up to this, and "more than" beyond. */
const mostOfAList = 100;

/** The first page of operators: whether the installation is well, and what is not. */
export function healthRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/", async (context) => {
    const api = context.get("api");
    const limit = mostOfAList;
    const [regions, stuckJobs, failedJobs, drift, invariants, restore] = await Promise.all([
      read(api.GET("/regions", { params: { query: { limit: mostRegions } } })),
      read(api.GET("/operator/stuck-jobs", { params: { query: { limit } } })),
      read(api.GET("/operator/jobs", { params: { query: { limit, status: ["failed"] } } })),
      read(api.GET("/operator/drift", { params: { query: { limit } } })),
      read(api.GET("/operator/invariants")),
      read(api.GET("/operator/restore")),
    ]);
    const known = await Promise.all(
      regions.items.map(async (region) => ({
        region,
        capacity: await read(
          api.GET("/regions/{region}/capacity", { params: { path: { region: region.slug } } }),
        ),
      })),
    );
    return context.html(
      renderPage(
        <HealthPage
          view={context.get("view")}
          health={{
            regions: known,
            hasMoreRegions: regions.next_cursor !== null,
            stuckJobs,
            failedJobs,
            drift,
            invariants,
            restore,
          }}
        />,
      ),
    );
  });

  return routes;
}
