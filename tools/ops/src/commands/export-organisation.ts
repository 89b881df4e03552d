import type { ApiClient } from "@kule/contract/client";
import { operations } from "@kule/contract/generated/operations";
import { type Command, readInteger, UsageError } from "../command.ts";
import { type ExportedList, exportedLists } from "../exported-lists.ts";
import type { OperatorApi } from "../operator-api.ts";

const defaultMost = 10_000;
const largestMost = 1_000_000;

type Item = Readonly<Record<string, unknown>>;
type Page = { readonly items: readonly Item[]; readonly next_cursor: string | null };

export const exportOrganisation: Command = {
  noun: "organisation",
  verb: "export",
  summary:
    "Write everything that an organisation has as JSON; secrets are not part of the API, so not of this",
  positionals: { names: "ORGANISATION", about: "its id", least: 1, most: 1 },
  options: {
    output: { value: "PATH", about: "a file that must not be there yet (default: printed)" },
    most: {
      value: "N",
      about: `of each list, the newest or first as the API sorts them (default ${defaultMost})`,
    },
  },
  async run(given, api, files) {
    const id = given.positionals[0] ?? "";
    const most = readInteger("most", given.one("most") ?? String(defaultMost));
    if (most < 1 || most > largestMost) throw new UsageError(`--most is from 1 to ${largestMost}`);
    const organisation = await api.ask(
      api.client().GET("/organisations/{organisation_id}", { params: { path: { organisation_id: id } } }),
    );
    const client = api.client(id);
    const quotas = await api.ask(client.GET("/quotas"));
    const reader = new ListReader(api, client, most);
    const lists: Record<string, readonly Item[]> = {};
    for (const list of exportedLists) lists[list.name] = await reader.read(list, {});
    const incomplete = [...reader.incomplete].sort();
    const json = { organisation, quotas: quotas.items, ...lists, incomplete };
    const text = () => JSON.stringify(json, null, 2);
    const path = given.one("output");
    if (path !== undefined && !api.isDryRun) files.write(path, `${text()}\n`);
    const notes = incomplete.map((name) => `${name}: only ${most} are there; raise --most`);
    if (path === undefined) return { json, text, notes };
    const counts = Object.fromEntries(Object.entries(lists).map(([name, items]) => [name, items.length]));
    return {
      json: { output: path, counts, incomplete },
      text: () =>
        `wrote ${path}: ${Object.entries(counts)
          .map(([name, count]) => `${count} ${name}`)
          .join(", ")}`,
      notes,
    };
  },
};

/** Reads lists and the lists of their items, of each name at most so many items. */
class ListReader {
  readonly incomplete = new Set<string>();
  readonly #api: OperatorApi;
  readonly #get: (
    path: string,
    init: object,
  ) => Promise<{ data?: Page; error?: unknown; response: Response }>;
  readonly #left = new Map<string, number>();
  readonly #most: number;

  constructor(api: OperatorApi, client: ApiClient, most: number) {
    this.#api = api;
    // The operations are chosen by a table, so their types are not known here.
    this.#get = client.GET as never;
    this.#most = most;
  }

  async read(list: ExportedList, path: Readonly<Record<string, string>>): Promise<Item[]> {
    const left = this.#left.get(list.name) ?? this.#most;
    if (left === 0) {
      this.incomplete.add(list.name);
      return [];
    }
    const { items, isWhole } = await this.#api.all<Item>(left, (cursor) =>
      this.#api.ask(
        this.#get(operations[list.operation].path, {
          params: { path, query: { limit: 200, ...list.query, ...(cursor === undefined ? {} : { cursor }) } },
        }),
      ),
    );
    if (!isWhole) this.incomplete.add(list.name);
    this.#left.set(list.name, left - items.length);
    const whole: Item[] = [];
    for (const item of items) {
      const more: Record<string, readonly Item[]> = {};
      for (const each of list.ofEach ?? [])
        more[each.name] = await this.read(each, { ...path, [each.parameter]: String(item.id) });
      whole.push({ ...item, ...more });
    }
    return whole;
  }
}
