import { Hono } from "hono";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { mostRows } from "../../layout/list-choices.ts";
import { actNamed, confirmationOf, type SelectedEnd, type SelectedKind } from "./selected-kind.ts";
import { NothingSelectedPage, SelectedEndPage, SelectedPage } from "./selected-page.tsx";

/** So many calls at once, so that a whole page of resources is no burst against the rate limit's small print. */
const atOnce = 5;

/** Acts on several resources of a kind: a page that shows what would happen, and the calls, one for each. */
export function selectedRoutes<Item, Act extends string>(kind: SelectedKind<Item, Act>): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  const path = `${kind.page}/selected`;

  routes.get(path, async (context) => {
    const query = new URL(context.req.url).searchParams;
    const act = actNamed(kind, query.get("act"));
    const items = act === undefined ? [] : await itemsOf(context, kind, query.getAll("ids"));
    const view = context.get("view");
    if (act === undefined || items.length === 0)
      return context.html(renderPage(<NothingSelectedPage view={view} kind={kind} />));
    const page = (
      <SelectedPage view={view} kind={kind} act={act} items={items} idempotencyKey={crypto.randomUUID()} />
    );
    return context.html(renderPage(page));
  });

  routes.post(path, async (context) => {
    const form = context.get("form");
    const act = actNamed(kind, form.get("act"));
    const items = act === undefined ? [] : await itemsOf(context, kind, form.getAll("ids"));
    const view = context.get("view");
    if (act === undefined || items.length === 0)
      return context.html(renderPage(<NothingSelectedPage view={view} kind={kind} />), 422);
    const key = form.get("idempotency_key") ?? crypto.randomUUID();
    const confirmation = confirmationOf(kind, act, items);
    const typed = (form.get("confirm_name") ?? "").trim();
    if (confirmation !== null && typed !== confirmation) {
      const page = (
        <SelectedPage view={view} kind={kind} act={act} items={items} idempotencyKey={key} mistyped={typed} />
      );
      return context.html(renderPage(page), 422);
    }
    // The same key for the same resource and act, however often and with whichever others the form comes.
    const ends = await inTurns(items, async (item): Promise<SelectedEnd<Item>> => {
      const { id } = kind.nameOf(item);
      return { item, outcome: await kind.acts[act].ask(context.get("api"), id, `${key}-${act}-${id}`) };
    });
    return context.html(
      renderPage(<SelectedEndPage view={view} kind={kind} act={act} ends={ends} idempotencyKey={key} />),
      ends.every(({ outcome }) => outcome.kind === "done") ? 200 : 409,
    );
  });

  return routes;
}

/** Those of the identifiers that are resources the session sees, in the order they came; no more than a page has. */
async function itemsOf<Item, Act extends string>(
  context: ConsoleContext,
  kind: SelectedKind<Item, Act>,
  ids: readonly string[],
): Promise<Item[]> {
  const wanted = [...new Set(ids)].filter((id) => id.startsWith(kind.prefix)).slice(0, mostRows);
  const api = context.get("api");
  const found = await inTurns(wanted, (id) => kind.read(api, id));
  return found.flatMap((item) => item ?? []);
}

async function inTurns<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    done.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return done;
}
