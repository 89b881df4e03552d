/** The page sizes that people may choose. */
const rowCounts = [20, 50, 100, 200] as const;
/** For lists whose rows each need a further request. */
const panelCounts = [20, 50] as const;

/** The longest page of a list. */
export const mostRows = Math.max(...rowCounts);

/**
 * Each list of the panel: its default page size and the permitted sizes, and the columns that can be hidden, in their
 * order. The column that names a row and the column of its actions are always shown.
 */
const lists = {
  servers: {
    rows: 20,
    counts: rowCounts,
    columns: ["status", "private_ip", "public_ip", "image", "package", "region", "created"],
  },
  /** The columns of their subnets, which are shown within each network. */
  networks: {
    rows: 20,
    counts: panelCounts,
    columns: ["tier", "cidr", "gateway", "dns", "egress", "usage", "status", "created"],
    leftOut: ["dns", "status", "created"],
  },
  /** All subnets of a network are shown, so there are no pages. */
  subnets: {
    rows: 0,
    counts: [],
    columns: ["tier", "cidr", "gateway", "dns", "egress", "usage", "status", "created"],
    leftOut: ["created"],
  },
  gateways: {
    rows: 50,
    counts: rowCounts,
    columns: ["status", "address", "network", "serves", "forwards", "region", "created"],
  },
  load_balancers: {
    rows: 50,
    counts: rowCounts,
    columns: ["status", "address", "network", "listeners", "targets", "region", "created"],
  },
  firewalls: {
    rows: 50,
    counts: rowCounts,
    columns: ["rules", "attached", "status", "region", "created"],
  },
  public_ips: {
    rows: 50,
    counts: rowCounts,
    columns: ["status", "server", "ptr", "region", "created"],
  },
  domains: {
    rows: 50,
    counts: rowCounts,
    columns: ["status", "delegation", "records", "dnssec", "created"],
  },
  certificates: {
    rows: 50,
    counts: rowCounts,
    columns: ["type", "names", "status", "days", "used_by", "region", "created"],
    leftOut: ["region", "created"],
  },
  ssh_keys: {
    rows: 50,
    counts: rowCounts,
    columns: ["type", "fingerprint", "used_by", "last_used", "created"],
  },
  jobs: {
    rows: 20,
    counts: rowCounts,
    columns: ["status", "resource", "requested_by", "duration", "created"],
  },
  segments: {
    rows: 50,
    counts: rowCounts,
    columns: ["kind", "amount", "region", "start", "end", "took"],
  },
  events: {
    rows: 50,
    counts: rowCounts,
    columns: ["at", "resource", "amount", "region", "labels", "cause"],
  },
  ip_pools: { rows: 50, counts: rowCounts, columns: ["region", "network", "use", "created"] },
  stuck_jobs: { rows: 50, counts: rowCounts, columns: [] },
  drift: { rows: 50, counts: rowCounts, columns: [] },
  organisations: { rows: 50, counts: rowCounts, columns: [] },
  members: { rows: 50, counts: rowCounts, columns: [] },
  tokens: {
    rows: 50,
    counts: rowCounts,
    columns: ["role", "scopes", "status", "last_used", "created"],
  },
  audit: {
    rows: 50,
    counts: rowCounts,
    columns: ["at", "actor", "source", "resource", "organisation", "outcome", "details"],
  },
} as const satisfies Readonly<
  Record<
    string,
    {
      readonly rows: number;
      readonly counts: readonly number[];
      readonly columns: readonly string[];
      /** The columns that are hidden by default. */
      readonly leftOut?: readonly string[];
    }
  >
>;

export type ListId = keyof typeof lists;
export type ColumnOf<List extends ListId> = (typeof lists)[List]["columns"][number];

type Choice = { readonly rows: number; readonly columns: readonly string[] };
/** A browser's settings for its lists; a list that is not in it has the defaults. */
export type ListChoices = { readonly [list in ListId]?: Choice };

export function isListId(name: string | null): name is ListId {
  return name !== null && Object.hasOwn(lists, name);
}

export function rowCountsOf(list: ListId): readonly number[] {
  return lists[list].counts;
}

/** How many rows the list's pages have. */
export function rowsOf(choices: ListChoices, list: ListId): number {
  return choices[list]?.rows ?? lists[list].rows;
}

/** All columns of the list that can be hidden. */
export function columnsOf<List extends ListId>(list: List): readonly ColumnOf<List>[] {
  return lists[list].columns;
}

function atFirst(list: ListId): readonly string[] {
  const { columns, leftOut = [] }: { columns: readonly string[]; leftOut?: readonly string[] } = lists[list];
  return columns.filter((column) => !leftOut.includes(column));
}

/** The visible columns of the list. */
export function shownColumns<List extends ListId>(
  choices: ListChoices,
  list: List,
): readonly ColumnOf<List>[] {
  const shown = choices[list]?.columns ?? atFirst(list);
  return columnsOf(list).filter((column) => shown.includes(column));
}

/** A posted setting; an invalid part of it becomes the default or is dropped. */
export function chosen(list: ListId, rows: string | null, columns: readonly string[]): Choice {
  const known: readonly string[] = lists[list].columns;
  return {
    rows: rowCountsOf(list).find((count) => String(count) === rows) ?? lists[list].rows,
    columns: known.filter((column) => columns.includes(column)),
  };
}

// `servers.50.status.image~jobs.100.-`: the list, its rows, its columns; a hyphen for none of them, nothing for those at first.
const none = "-";

/** Reads the cookie. It may contain anything; invalid lists, sizes and columns are ignored. */
export function readListChoices(cookie: string | undefined): ListChoices {
  const entries = (cookie ?? "").split("~").flatMap((text) => {
    const [list = "", rows = "", ...columns] = text.split(".");
    if (!isListId(list)) return [];
    const named = columns.length === 0 ? atFirst(list) : columns;
    return [[list, chosen(list, rows, named)] as const];
  });
  return Object.fromEntries(entries);
}

/** The cookie that `readListChoices` reads. */
export function writeListChoices(choices: ListChoices): string {
  return Object.entries(choices)
    .map(([list, { rows, columns }]) =>
      [list, String(rows), ...(columns.length === 0 ? [none] : columns)].join("."),
    )
    .join("~");
}
