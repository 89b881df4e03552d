import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  sessionOf,
  streamScope,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner } from "../../page-banner.ts";
import { refuseForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { addressRoutes } from "./address-routes.ts";
import { serverFirewallRoutes } from "./firewall-routes.ts";
import { type ActEnd, operationRoutes } from "./operation-routes.ts";
import { unpackPassword } from "./password-once.ts";
import type { ServerTabProps } from "./props.ts";
import { servers } from "./resource.ts";
import { ConsolePage, NetworkPage, OverviewPage, SettingsPage } from "./show-page.tsx";

/** The tabs of a server that are its own; the others show data of other pages. */
const paths = {
  overview: "",
  network: "/network",
  console: "/console-sessions",
  settings: "/settings",
} as const;
type Tab = keyof typeof paths;

/** The tab that has the form of an action; the header's forms lead to the overview, which follows the job. */
const tabOfAct: Readonly<Record<string, Tab>> = {
  protection: "settings",
  rebuild: "settings",
  delete: "settings",
  "password-reset": "console",
  "end-console": "console",
  "attach-address": "network",
  "take-address": "network",
  "detach-address": "network",
  "attach-firewall": "network",
  "detach-firewall": "network",
};
/** After these the overview follows the job. */
const followedActs = ["rebuild", "delete"];

/** What a page shows after a form was refused. */
type Shown = Pick<ServerTabProps, "banner" | "refused">;

/** One server: its tabs, and the forms on them. */
export function serverPageRoutes(routes: Hono<ConsoleEnv>, services: ConsoleServices): void {
  const { cookies, jobStreams } = services;

  for (const tab of Object.keys(paths) as Tab[])
    routes.get(`/servers/:server_id${paths[tab]}`, (context) => {
      const { notices } = context.get("view").messages.servers;
      return showServer(context, context.req.param("server_id") ?? "", tab, 200, {
        banner: noticeBanner(context, notices),
        refused: null,
      });
    });

  changeRoutes(routes, servers, {
    show: (context, banner, refused, status) =>
      showServer(context, context.req.param("server_id") ?? "", "settings", status, { banner, refused }),
    changed: "renamed",
  });
  operationRoutes(routes, services, afterAct);
  addressRoutes(routes, afterAct);
  serverFirewallRoutes(routes, afterAct);
  // The address of a refused form, loaded again, leads to the page.
  for (const act of [...Object.keys(tabOfAct), "power", "cancel-deletion", "purge"])
    routes.get(`/servers/:server_id/${act}`, (context) =>
      context.redirect(`/servers/${context.req.param("server_id")}${paths[tabOf(act)]}`, 303),
    );

  function afterAct(context: ConsoleContext, id: string, act: string, end: ActEnd) {
    const { messages } = context.get("view");
    const tab = tabOf(act);
    if (end.outcome === "unconfirmed") {
      const problems = { confirm_name: [messages.common.confirmMismatch] };
      const refused = { of: act, values: valuesOf(context), problems };
      return showServer(context, id, tab, 422, { banner: null, refused });
    }
    if (end.outcome.kind === "done") {
      const query = new URLSearchParams({ notice: end.notice });
      if (end.isWithheld === true) query.set("password", "withheld");
      const next = followedActs.includes(act) ? "overview" : tab;
      return context.redirect(`/servers/${id}${paths[next]}?${query}`, 303);
    }
    const { form, banner, status } = refuseForm(
      context,
      end.outcome,
      act,
      valuesOf(context),
      end.errorPlaces ?? {},
    );
    return showServer(context, id, tab, status, { banner, refused: form });
  }

  async function showServer(
    context: ConsoleContext,
    id: string,
    tab: Tab,
    status: 200 | 409 | 422,
    shown: Shown,
  ) {
    const server = await read(
      context.get("api").GET("/servers/{server_id}", { params: { path: { server_id: id } } }),
    );
    const props: ServerTabProps = {
      ...shown,
      view: context.get("view"),
      server,
      consolePassword: status === 200 ? await passwordOnce(context, server) : null,
      idempotencyKey: crypto.randomUUID(),
    };
    return context.html(renderPage(await pages[tab](context, props)), status);
  }

  /** The password that the last form set, if this is the first page after it. */
  async function passwordOnce(
    context: ConsoleContext,
    server: Schemas["Server"],
  ): Promise<ServerTabProps["consolePassword"]> {
    // A refresh of a part of the page must not use up the password.
    const isPart = context.req.header("hx-request") === "true";
    const once = isPart ? null : await cookies.takeOnce(context, server.id);
    const secret = once === null ? null : unpackPassword(once);
    if (secret !== null) return { ...secret, user: secret.user ?? server.image.default_user };
    return context.req.query("password") === "withheld" ? "withheld" : null;
  }

  const pages: Record<Tab, (context: ConsoleContext, props: ServerTabProps) => Promise<unknown>> = {
    async overview(context, props) {
      const api = context.get("api");
      const { server } = props;
      const [jobs, networks, sshKeys, catalog] = await Promise.all([
        read(api.GET("/jobs", { params: { query: { resource: server.id, limit: 5 } } })),
        readAll((page) => api.GET("/networks", { params: { query: { ...page, region: server.region } } })),
        readAll((page) => api.GET("/ssh-keys", { params: { query: page } })),
        read(api.GET("/catalog")),
      ]);
      return (
        <OverviewPage
          {...props}
          networks={networks.items}
          sshKeys={sshKeys.items}
          regions={catalog.regions}
          jobs={jobs.items}
          job={await currentJob(context, server, jobs.items)}
        />
      );
    },
    async network(context, props) {
      const api = context.get("api");
      const { region } = props.server;
      const [networks, publicIps, firewalls] = await Promise.all([
        readAll((page) => api.GET("/networks", { params: { query: { ...page, region } } })),
        readAll((page) => api.GET("/public-ips", { params: { query: { ...page, region } } })),
        readAll((page) => api.GET("/firewalls", { params: { query: { ...page, region } } })),
      ]);
      return (
        <NetworkPage
          {...props}
          networks={networks.items}
          publicIps={publicIps.items}
          firewalls={firewalls.items}
        />
      );
    },
    async console(context, props) {
      const path = { server_id: props.server.id };
      const { items } = await read(
        context.get("api").GET("/servers/{server_id}/console-sessions", { params: { path } }),
      );
      return <ConsolePage {...props} consoleSessions={items} />;
    },
    async settings(context, props) {
      const api = context.get("api");
      const { region } = props.server;
      const [catalog, sshKeys, publicIps] = await Promise.all([
        read(api.GET("/catalog")),
        readAll((page) => api.GET("/ssh-keys", { params: { query: page } })),
        readAll((page) => api.GET("/public-ips", { params: { query: { ...page, region } } })),
      ]);
      return (
        <SettingsPage
          {...props}
          images={catalog.images}
          sshKeys={sshKeys.items}
          publicIps={publicIps.items}
        />
      );
    },
  };

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
}

const tabOf = (act: string): Tab => tabOfAct[act] ?? "overview";

/** The typed values; of the checked keys, all of them. */
function valuesOf(context: ConsoleContext): Record<string, string> {
  const form = context.get("form");
  return { ...Object.fromEntries(form), chosen_keys: form.getAll("ssh_key_ids").join(" ") };
}
