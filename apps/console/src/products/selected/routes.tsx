import { Hono } from "hono";
import { attempt } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { mostRows } from "../../layout/list-choices.ts";
import { callOperation, readItemOrNull } from "../../resources/call-operation.ts";
import { type AnyItem, listPath } from "../../resources/resource.ts";
import { NothingSelectedPage, SelectedEndPage, SelectedPage } from "./confirm-page.tsx";
import { actNamed, confirmationOf, type SelectedEnd, type SelectedKind } from "./kind.ts";

/** The number of concurrent calls, so that a whole page of resources does not exceed the rate limit's burst. */
const atOnce = 5;

/** Actions on several resources of a kind: a confirmation page, and the calls, one for each resource. */
export function selectedRoutes<Item extends AnyItem, Act extends string>(
  kind: SelectedKind<Item, Act>,
): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  const path = `${listPath(kind.resource)}/selected`;

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
    // The key depends on the resource and the action only, so a repeat with any other selection stays harmless.
    const ends = await inTurns(items, async (item): Promise<SelectedEnd<Item>> => {
      const call = callOperation(context.get("api"), kind.acts[act].called(item), `${key}-${act}-${item.id}`);
      return { item, outcome: await attempt(call) };
    });
    return context.html(
      renderPage(<SelectedEndPage view={view} kind={kind} act={act} ends={ends} idempotencyKey={key} />),
      ends.every(({ outcome }) => outcome.kind === "done") ? 200 : 409,
    );
  });

  return routes;
}

/** The identifiers that are resources visible to the session, in the order sent; at most one page of them. */
async function itemsOf<Item extends AnyItem, Act extends string>(
  context: ConsoleContext,
  kind: SelectedKind<Item, Act>,
  ids: readonly string[],
): Promise<Item[]> {
  const wanted = [...new Set(ids)]
    .filter((id) => id.startsWith(`${kind.resource.prefix}_`))
    .slice(0, mostRows);
  const api = context.get("api");
  const found = await inTurns(wanted, (id) => readItemOrNull(api, kind.resource, id));
  return found.flatMap((item) => item ?? []);
}

async function inTurns<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    done.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return done;
}
