import type { ApiClient } from "@kule/contract/client";
import type { RequestQuery } from "@kule/contract/schemas";
import { Hono } from "hono";
import { clientFor, read, readAll } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  sessionOf,
} from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { may } from "../../session.ts";
import { AuditPage } from "./list-page.tsx";
import { auditRequest, readAuditQuery } from "./list-query.ts";

/** The trail: the organisation's own for its admins, and the whole trail for operators. */
export function auditRoutes({ settings }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/audit", (context) => showTrail(context, "organisation", context.get("api")));
  routes.get("/operator/audit", (context) => {
    // Without an organisation header, even if the operator has chosen an organisation.
    const session = { ...sessionOf(context), organisation: null };
    return showTrail(context, "installation", clientFor(settings, session, context));
  });
  return routes;
}

async function showTrail(
  context: ConsoleContext,
  scope: "organisation" | "installation",
  api: ApiClient,
): Promise<Response> {
  const view = context.get("view");
  const address = new URL(context.req.url).searchParams;
  const query = readAuditQuery(address);
  const cursor = address.get("cursor") || undefined;
  const asked = auditRequest(query);
  const parameters = asked.ok ? asked.parameters : {};
  const trail = asked.ok
    ? read(
        api.GET("/audit", {
          params: {
            query: {
              ...(parameters as RequestQuery<"listAudit">),
              limit: rowsOf(view.lists, "audit"),
              ...(cursor === undefined ? {} : { cursor }),
            },
          },
        }),
      )
    : { items: [], next_cursor: null };
  const wantsMembers = scope === "organisation" && may(sessionOf(context), "member:read");
  const [entries, members] = await Promise.all([
    trail,
    wantsMembers ? readAll((page) => api.GET("/members", { params: { query: page } })) : { items: [] },
  ]);
  const problems = asked.ok
    ? noProblems
    : Object.fromEntries(asked.wrong.map((name) => [name, [view.messages.audit.wrongTime]]));
  return context.html(
    renderPage(
      <AuditPage
        view={view}
        scope={scope}
        entries={entries}
        members={members.items}
        query={query}
        asked={parameters}
        problems={problems}
        cursor={cursor}
      />,
    ),
    asked.ok ? 200 : 422,
  );
}
