import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, conflictOf, type Outcome, read } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  noticeOf,
  sessionOf,
  streamScope,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { problemText } from "../../problem-messages.ts";
import { createServerRoutes } from "./create-routes.tsx";
import { ServerListPage } from "./list-page.tsx";
import { readServerListQuery } from "./list-query.ts";
import { operationRoutes } from "./operation-routes.ts";
import { ShowPage, type ShowPageProps } from "./show-page.tsx";

type Shown = Pick<ShowPageProps, "notice" | "problem" | "consolePassword">;

export function serverRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const { cookies, jobStreams } = services;
  const routes = new Hono<ConsoleEnv>();

  routes.get("/servers", async (context) => {
    const view = context.get("view");
    const api = context.get("api");
    const query = readServerListQuery(new URL(context.req.url).searchParams);
    const [servers, catalog] = await Promise.all([
      read(
        api.GET("/servers", {
          params: {
            query: {
              limit: 25,
              sort: query.sort,
              ...(query.q === "" ? {} : { q: query.q }),
              ...(query.region === "" ? {} : { region: query.region }),
              ...(query.status.length === 0 ? {} : { status: [...query.status] }),
              ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
            },
          },
        }),
      ),
      read(api.GET("/catalog")),
    ]);
    return context.html(
      renderPage(
        <ServerListPage
          view={view}
          query={query}
          servers={servers}
          regions={catalog.regions}
          notice={noticeOf(context, view.messages.servers.notices)}
        />,
      ),
    );
  });

  routes.route("/servers/new", createServerRoutes(services));

  routes.get("/servers/:id", async (context) => {
    const id = context.req.param("id");
    // A refresh of a part of the page must not be the one that shows the password.
    const partial = context.req.header("hx-request") === "true";
    const once = partial ? null : await cookies.takeOnce(context, id);
    return showServer(context, id, 200, {
      notice: noticeOf(context, context.get("view").messages.servers.notices),
      problem: null,
      consolePassword:
        once !== null
          ? { user: "", password: once }
          : context.req.query("password") === "withheld"
            ? "withheld"
            : null,
    });
  });

  routes.post("/servers/:id/delete", async (context) => {
    const id = context.req.param("id");
    const api = context.get("api");
    const { messages } = context.get("view");
    const server = await read(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } }));
    if ((context.get("form").get("confirm_name") ?? "").trim() !== server.name)
      return showServer(context, id, 422, {
        notice: null,
        problem: messages.servers.confirmMismatch,
        consolePassword: null,
      });
    const outcome = await attempt(api.DELETE("/servers/{server_id}", options(context, id)));
    return afterAct(context, id, outcome, "deleted");
  });

  routes.post("/servers/:id/cancel-deletion", async (context) => {
    const id = context.req.param("id");
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/cancel-deletion", options(context, id)),
    );
    return afterAct(context, id, outcome, "restored");
  });

  routes.post("/servers/:id/protection", async (context) => {
    const id = context.req.param("id");
    const protect = context.get("form").get("protect") === "true";
    const outcome = await attempt(
      context.get("api").PATCH("/servers/{server_id}", {
        ...options(context, id),
        body: { protection: { delete: protect } },
      }),
    );
    return afterAct(context, id, outcome, protect ? "protected" : "unprotected");
  });

  operationRoutes(routes, services, afterAct);

  function afterAct(context: ConsoleContext, id: string, outcome: Outcome<unknown>, notice: string) {
    if (outcome.kind === "done") return context.redirect(`/servers/${id}?notice=${notice}`, 303);
    return showServer(context, id, 409, {
      notice: null,
      problem: problemText(conflictOf(outcome), context.get("view").messages),
      consolePassword: null,
    });
  }

  async function showServer(context: ConsoleContext, id: string, status: 200 | 409 | 422, shown: Shown) {
    const api = context.get("api");
    const [server, jobs, networks, sshKeys, catalog] = await Promise.all([
      read(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } })),
      read(api.GET("/jobs", { params: { query: { resource: id, limit: 10 } } })),
      read(api.GET("/networks", { params: { query: { limit: 200 } } })),
      read(api.GET("/ssh-keys", { params: { query: { limit: 200 } } })),
      read(api.GET("/catalog")),
    ]);
    const { consolePassword } = shown;
    const image = catalog.images.find(({ slug }) => slug === server.image.slug);
    return context.html(
      renderPage(
        <ShowPage
          {...shown}
          consolePassword={
            consolePassword === null || consolePassword === "withheld"
              ? consolePassword
              : { ...consolePassword, user: image?.default_user ?? "" }
          }
          view={context.get("view")}
          server={server}
          networks={networks.items}
          sshKeys={sshKeys.items}
          catalog={catalog}
          jobs={jobs.items}
          job={await currentJob(context, server, jobs.items)}
          idempotencyKey={crypto.randomUUID()}
        />,
      ),
      status,
    );
  }

  /** The open job, or the last one if it did not succeed, with its steps where they can be had. */
  async function currentJob(
    context: ConsoleContext,
    server: Schemas["Server"],
    jobs: readonly Schemas["Job"][],
  ): Promise<Schemas["Job"] | null> {
    const [newest] = jobs;
    const listed =
      jobs.find((job) => job.id === server.job_id) ??
      (newest !== undefined && (newest.status === "failed" || newest.status === "cancelled")
        ? newest
        : undefined);
    if (listed === undefined) return null;
    const watched = jobStreams.latest(streamScope(sessionOf(context)), listed.id);
    if (watched !== null) return watched;
    const outcome = await attempt(
      context.get("api").GET("/jobs/{job_id}", { params: { path: { job_id: listed.id } } }),
    );
    // Asked too often: the list knows all but the steps, and the event stream brings those.
    return outcome.kind === "done" ? outcome.data : listed;
  }

  return routes;
}

function options(context: ConsoleContext, id: string) {
  return {
    params: {
      path: { server_id: id },
      header: { "Idempotency-Key": context.get("form").get("idempotency_key") || crypto.randomUUID() },
    },
  };
}
