import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { readOrNull } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { mostRows } from "../../layout/list-choices.ts";
import { isSelectedAct, type SelectedEnd, selectedActs } from "./selected-acts.ts";
import { NothingSelectedPage, SelectedEndPage, SelectedPage } from "./selected-page.tsx";

/** So many calls at once, so that a whole page of servers is no burst against the rate limit's small print. */
const atOnce = 5;

/** Acts on several servers: a page that shows what would happen, and the calls, one for each. */
export function selectedRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/", async (context) => {
    const query = new URL(context.req.url).searchParams;
    const act = query.get("act");
    const servers = isSelectedAct(act) ? await serversOf(context, query.getAll("ids")) : [];
    const view = context.get("view");
    if (!isSelectedAct(act) || servers.length === 0)
      return context.html(renderPage(<NothingSelectedPage view={view} />));
    const page = (
      <SelectedPage view={view} act={act} servers={servers} idempotencyKey={crypto.randomUUID()} />
    );
    return context.html(renderPage(page));
  });

  routes.post("/", async (context) => {
    const form = context.get("form");
    const act = form.get("act");
    const servers = isSelectedAct(act) ? await serversOf(context, form.getAll("ids")) : [];
    const view = context.get("view");
    if (!isSelectedAct(act) || servers.length === 0)
      return context.html(renderPage(<NothingSelectedPage view={view} />), 422);
    const key = form.get("idempotency_key") ?? crypto.randomUUID();
    // The same key for the same server and act, however often and with whichever others the form comes.
    const ends = await inTurns(
      servers,
      async (server): Promise<SelectedEnd> => ({
        server,
        outcome: await selectedActs[act].ask(context.get("api"), server.id, `${key}-${act}-${server.id}`),
      }),
    );
    return context.html(
      renderPage(<SelectedEndPage view={view} act={act} ends={ends} idempotencyKey={key} />),
      ends.every(({ outcome }) => outcome.kind === "done") ? 200 : 409,
    );
  });

  return routes;
}

/** Those of the identifiers that are servers the session sees, in the order they came; no more than a page has. */
async function serversOf(context: ConsoleContext, ids: readonly string[]): Promise<Schemas["Server"][]> {
  const wanted = [...new Set(ids)].filter((id) => id.startsWith("srv_")).slice(0, mostRows);
  const api = context.get("api");
  const found = await inTurns(wanted, (id) =>
    readOrNull(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } })),
  );
  return found.flatMap((server) => server ?? []);
}

async function inTurns<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    done.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return done;
}
