import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import type { CalledOperation } from "../api-operation.ts";
import type { Crumb } from "../layout/crumbs-part.tsx";
import type { ListId } from "../layout/list-choices.ts";
import type { ListFilter, ListSort } from "../layout/list-query.ts";
import type { Product } from "../layout/rail-sections.tsx";
import type { Messages } from "../messages/messages.ts";

/** The fields that every resource has. */
export type AnyItem = { readonly id: string };

/** The pages of a resource. */
export type ResourceTab =
  | "overview"
  | "records"
  | "import"
  | "delegation"
  | "dnssec"
  | "network"
  | "console"
  | "jobs"
  | "usage"
  | "audit"
  | "settings";

/** The kinds of resources that the search finds. */
export type FoundKind =
  | "server"
  | "network"
  | "firewall"
  | "gateway"
  | "load_balancer"
  | "public_ip"
  | "domain"
  | "certificate"
  | "ssh_key";

/**
 * The descriptor of one kind of resource, from which the shared code makes the frame of its list, its tabs, and the
 * forms that change its settings and labels and delete it. Columns, create forms and the content of its page are the
 * product's own. Addresses in the panel, permissions and the names of ids are those of the operations in the contract.
 */
export type Resource<Item extends AnyItem> = {
  /** The prefix of its ids, without the underscore. */
  readonly prefix: string;
  /** Its section of the panel's navigation. */
  readonly section: Product | "operator";
  readonly operations: Readonly<Record<"list" | "get" | "update" | "delete", OperationId>>;
  nameOf(item: Item): string;
  /** What distinguishes two resources of the same name: an address, a region. */
  detailOf(item: Item): string;
  /** The ids in the address of one, by the contract's names. */
  idsOf(item: Item): Readonly<Record<string, string>>;
  /** The values that can be changed, as the body of `update` has them: the body of the shown call. */
  changeable(item: Item): Readonly<Record<string, unknown>>;
  /** The fields of its settings form; text fields are sent as typed, unless `bodyOf` converts them. */
  readonly settings: {
    readonly fields: readonly string[];
    readonly conflicts: Readonly<Record<string, string>>;
    bodyOf?(typed: URLSearchParams): Readonly<Record<string, unknown>>;
  };
  readonly hasLabels: boolean;
  /** Whether a deletion requires its name to be typed. */
  readonly isDeleteConfirmed: boolean;
  /** Whether each has a page of its own, rather than a row in a list. */
  readonly hasPage: boolean;
  /** Its name in the search, if the search finds it. */
  readonly found?: FoundKind;
  /** Its tabs, and the permissions of which the settings require at least one. */
  readonly tabs?: { readonly all: readonly ResourceTab[]; readonly settings: readonly string[] };
  /** The page of their list, where the shared code makes it. */
  readonly listed?: ResourceListing;
  texts(messages: Messages): ResourceTexts;
};

/** The frame of a resource's list. */
export type ResourceListing = {
  /** The list's id in the page. */
  readonly element: string;
  /** The name under which this browser stores the settings of the list. */
  readonly choices: ListId;
  readonly filters: readonly ListFilter[];
  readonly sorts: readonly [ListSort, ...ListSort[]];
  /** Its entries change by themselves, so that it polls. */
  readonly isLive?: true;
  /** The pages above the list, where it is not the first page of its section. */
  parents?(messages: Messages): readonly Crumb[];
  texts(messages: Messages): {
    readonly title: string;
    readonly lead: string;
    readonly empty: string;
    readonly emptyHint: string;
    /** The link to the page that creates one, and its title. */
    readonly create: string;
  };
};

export type ListedResource<Item extends AnyItem> = Resource<Item> & { readonly listed: ResourceListing };

export type ResourceTexts = {
  /** The link from one to the list; null where the list is the first page anyway. */
  readonly all: string | null;
  readonly delete?: { readonly title: string; readonly lead: string; readonly button: string };
};

type Operated = {
  readonly operations: Readonly<Record<"list" | "update" | "delete", OperationId>>;
};

/** The address of the list: `/networks`. */
export function listPath({ operations: { list } }: Operated): string {
  return operations[list].path;
}

/** The way to the pages below the list: the pages above it, and the list. */
export function listCrumbs<Item extends AnyItem>(
  resource: Resource<Item>,
  messages: Messages,
): readonly Crumb[] {
  const { listed } = resource;
  const text = listed?.texts(messages).title ?? messages.navigation[resource.section];
  return [...(listed?.parents?.(messages) ?? []), { path: listPath(resource), text }];
}

/** The address of the page that creates one: `/networks/new`. */
export function createPath(resource: Operated): string {
  return `${listPath(resource)}/new`;
}

/** The address of one in the panel, which is its path in the API. */
export function pageOf<Item extends AnyItem>(resource: Resource<Item>, item: Item): string {
  return filledPath(resource, resource.idsOf(item));
}

/** The address of one by the ids in it. */
export function filledPath(
  { operations: { update } }: Operated,
  ids: Readonly<Record<string, string>>,
): string {
  return operations[update].path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(ids[name] ?? ""),
  );
}

/** The address of any of them, as a route: `/networks/:network_id`. */
export function pageRoute({ operations: { update } }: Operated): string {
  return operations[update].path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** The permission for this operation on one of them. */
export function permissionTo(resource: Operated, action: "list" | "update" | "delete"): string {
  return operations[resource.operations[action]].permission;
}

/** The calls that the page of one shows: to change it, with its own values, and to delete it. */
export function callsOf<Item extends AnyItem>(
  resource: Resource<Item>,
  item: Item,
): Readonly<Record<"update" | "delete", CalledOperation>> {
  const path = resource.idsOf(item);
  const labels = resource.hasLabels && "labels" in item ? { labels: item.labels } : {};
  return {
    update: {
      operation: resource.operations.update,
      path,
      body: { ...resource.changeable(item), ...labels },
    },
    delete: { operation: resource.operations.delete, path },
  };
}
