import { attempt } from "../api.ts";
import type { ConsoleContext } from "../console-context.ts";
import { rowsOf } from "../layout/list-choices.ts";
import { listRequestParameters, narrowedList, readListQuery } from "../layout/list-query.ts";
import { callOperation } from "./call-operation.ts";
import type { AnyItem, ListedResource } from "./resource.ts";

/**
 * The page of a resource's list that the address requests, in this browser's page size.
 *
 * @throws SessionEnded, ApiAway, ApiRefused
 */
export async function readList<Item extends AnyItem>(
  context: ConsoleContext,
  resource: ListedResource<Item>,
) {
  const { lists, messages } = context.get("view");
  const { filters, sorts, choices } = resource.listed;
  const query = readListQuery(new URL(context.req.url).searchParams, filters, sorts);
  const parameters = Object.entries(listRequestParameters(query, rowsOf(lists, choices)));
  const listed = await attempt(
    callOperation<{ items: Item[]; next_cursor: string | null }>(context.get("api"), {
      operation: resource.operations.list,
      query: Object.fromEntries(parameters.map(([name, value]) => [name, String(value)])),
    }),
  );
  return { query, ...narrowedList(listed, messages) };
}
