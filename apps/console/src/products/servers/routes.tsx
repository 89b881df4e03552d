import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  noticeOf,
  sessionOf,
  streamScope,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { listRequestParameters, narrowedList } from "../../layout/list-query.ts";
import { noticeBanner } from "../../page-banner.ts";
import { refuseForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { addressRoutes } from "./address-routes.ts";
import { createServerRoutes } from "./create-routes.tsx";
import { serverFirewallRoutes } from "./firewall-routes.ts";
import { ServerListPage } from "./list-page.tsx";
import { readServerListQuery } from "./list-query.ts";
import { type ActEnd, operationRoutes } from "./operation-routes.ts";
import { type PasswordOnce, unpackPassword } from "./password-once.ts";
import type { ShowPageProps } from "./props.ts";
import { resizeRoutes } from "./resize-routes.tsx";
import { servers } from "./resource.ts";
import { selectedServers } from "./selected.tsx";
import { ShowPage } from "./show-page.tsx";

type Shown = Pick<ShowPageProps, "notice" | "problem" | "refused"> & {
  readonly consolePassword: PasswordOnce | "withheld" | null;
};

const nothingShown: Shown = { notice: null, problem: null, consolePassword: null, refused: null };

export function serverRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const { cookies, jobStreams } = services;
  const routes = new Hono<ConsoleEnv>();

  routes.get("/servers", async (context) => {
    const view = context.get("view");
    const api = context.get("api");
    const query = readServerListQuery(new URL(context.req.url).searchParams);
    const [listed, catalog] = await Promise.all([
      attempt(
        api.GET("/servers", {
          params: {
            query: {
              ...listRequestParameters(query, rowsOf(view.lists, "servers")),
              sort: query.sort,
              ...(query.status.length === 0 ? {} : { status: [...query.status] }),
            },
          },
        }),
      ),
      read(api.GET("/catalog")),
    ]);
    const { list: servers, selectorProblem } = narrowedList(listed, view.messages);
    return context.html(
      renderPage(
        <ServerListPage
          view={view}
          query={query}
          servers={servers}
          selectorProblem={selectorProblem}
          regions={catalog.regions}
          notice={noticeOf(context, view.messages.servers.notices)}
        />,
      ),
    );
  });

  routes.route("/servers/new", createServerRoutes(services));
  routes.route("/", selectedRoutes(selectedServers));

  routes.get("/servers/:server_id", async (context) => {
    const id = context.req.param("server_id");
    // A refresh of a part of the page must not use up the password.
    const partial = context.req.header("hx-request") === "true";
    const once = partial ? null : await cookies.takeOnce(context, id);
    return showServer(context, id, 200, {
      notice: noticeBanner(context, context.get("view").messages.servers.notices)?.text ?? null,
      problem: null,
      refused: null,
      consolePassword:
        once !== null
          ? unpackPassword(once)
          : context.req.query("password") === "withheld"
            ? "withheld"
            : null,
    });
  });

  changeRoutes(routes, servers, {
    show: (context, banner, form, status) =>
      showServer(context, context.req.param("server_id") ?? "", status, {
        ...nothingShown,
        refused: form,
        problem: banner,
      }),
    changed: "renamed",
  });
  operationRoutes(routes, services, afterAct);
  addressRoutes(routes, afterAct);
  serverFirewallRoutes(routes, afterAct);
  resizeRoutes(routes);

  function afterAct(context: ConsoleContext, id: string, act: string, end: ActEnd) {
    const { messages } = context.get("view");
    if (end.outcome === "unconfirmed")
      return showServer(context, id, 422, {
        ...nothingShown,
        refused: {
          of: act,
          values: valuesOf(context),
          problems: { confirm_name: [messages.common.confirmMismatch] },
        },
      });
    if (end.outcome.kind === "done") {
      const query = new URLSearchParams({ notice: end.notice });
      if (end.isWithheld === true) query.set("password", "withheld");
      return context.redirect(`/servers/${id}?${query}`, 303);
    }
    const values = valuesOf(context);
    const { form, banner, status } = refuseForm(context, end.outcome, act, values, end.errorPlaces ?? {});
    return showServer(context, id, status, { ...nothingShown, refused: form, problem: banner });
  }

  async function showServer(context: ConsoleContext, id: string, status: 200 | 409 | 422, shown: Shown) {
    const api = context.get("api");
    const server = await read(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } }));
    const { region } = server;
    const [jobs, networks, sshKeys, catalog, publicIps, firewalls, consoleSessions] = await Promise.all([
      read(api.GET("/jobs", { params: { query: { resource: id, limit: 10 } } })),
      readAll((page) => api.GET("/networks", { params: { query: { ...page, region } } })),
      readAll((page) => api.GET("/ssh-keys", { params: { query: page } })),
      read(api.GET("/catalog")),
      readAll((page) => api.GET("/public-ips", { params: { query: { ...page, region } } })),
      readAll((page) => api.GET("/firewalls", { params: { query: { ...page, region } } })),
      read(api.GET("/servers/{server_id}/console-sessions", { params: { path: { server_id: id } } })),
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
              : { ...consolePassword, user: consolePassword.user ?? image?.default_user ?? "" }
          }
          view={context.get("view")}
          server={server}
          networks={networks.items}
          sshKeys={sshKeys.items}
          catalog={catalog}
          publicIps={publicIps.items}
          firewalls={firewalls.items}
          consoleSessions={consoleSessions.items}
          jobs={jobs.items}
          job={await currentJob(context, server, jobs.items)}
          idempotencyKey={crypto.randomUUID()}
        />,
      ),
      status,
    );
  }

  /** The open job, or the last one if it did not succeed, with its steps if they can be read. */
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
    // Rate limited: the list has everything but the steps, and the event stream delivers those.
    return outcome.kind === "done" ? outcome.data : listed;
  }

  return routes;
}

/** The typed values; of the checked keys, all of them. */
function valuesOf(context: ConsoleContext): Record<string, string> {
  const form = context.get("form");
  return { ...Object.fromEntries(form), chosen_keys: form.getAll("ssh_key_ids").join(" ") };
}
