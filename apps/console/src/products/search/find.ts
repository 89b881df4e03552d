import type { ApiClient } from "@kule/contract/client";
import { attempt, type Outcome } from "../../api.ts";
import { callOperation } from "../../resources/call-operation.ts";
import { searchedResources } from "../../resources/panel-resources.ts";
import {
  type AnyItem,
  type FoundKind,
  listPath,
  pageOf,
  permissionTo,
  type Resource,
} from "../../resources/resource.ts";
import { may, type Session } from "../../session.ts";

/** A resource, as a line that links to its page. */
export type Found = {
  readonly kind: FoundKind | "job";
  readonly name: string;
  /** What distinguishes two of the same name: an address, a region, a status. */
  readonly detail: string;
  readonly path: string;
};

export type FindAnswer = {
  readonly found: readonly Found[];
  /** Whether a kind could not be read, so that the result may be incomplete. */
  readonly isPartial: boolean;
};

/** The most results of each kind; the kind's own list has more. */
const mostOfAKind = 6;

/**
 * Resources of the session's organisation whose name, label or address contains the text, or whose identifier it is.
 * Reads only what the session's role may read.
 */
export async function findResources(api: ApiClient, session: Session, text: string): Promise<FindAnswer> {
  if (text === "" || session.organisation === null) return { found: [], isPartial: false };
  const isId = /^[a-z0-9]{2,4}_[a-z0-9]{26}$/.test(text);
  const answers = await Promise.all(isId ? [byId(api, text)] : matching(api, session, text));
  return {
    found: answers.flatMap((answer) => answer ?? []),
    isPartial: answers.some((answer) => answer === null),
  };
}

type Answer = Promise<readonly Found[] | null>;

function matching(api: ApiClient, session: Session, text: string): Answer[] {
  const query = { q: text, limit: String(mostOfAKind) };
  return searchedResources
    .filter((resource) => may(session, permissionTo(resource, "list")))
    .map((resource) => {
      const { list } = resource.operations;
      return found(
        callOperation<{ readonly items: readonly AnyItem[] }>(api, { operation: list, query }),
        ({ items }) => items.flatMap((item) => linesOf(resource, item)),
      );
    });
}

function byId(api: ApiClient, id: string): Answer {
  const [prefix] = id.split("_");
  if (prefix === "job")
    return found(api.GET("/jobs/{job_id}", { params: { path: { job_id: id } } }), (job) => [
      { kind: "job", name: id, detail: job.kind, path: `/jobs/${id}` },
    ]);
  const resource = searchedResources.find((each) => each.prefix === prefix);
  if (resource === undefined) return Promise.resolve([]);
  const { get } = resource.operations;
  return found(callOperation<AnyItem>(api, { operation: get, path: resource.idsOf({ id }) }), (item) =>
    linesOf(resource, item),
  );
}

function linesOf(resource: Resource<AnyItem>, item: AnyItem): readonly Found[] {
  const { found: kind, hasPage } = resource;
  if (kind === undefined) return [];
  const path = hasPage ? pageOf(resource, item) : listPath(resource);
  return [{ kind, name: resource.nameOf(item), detail: resource.detailOf(item), path }];
}

/** Null when the API did not answer; empty when there is none, or none that this role may see. */
async function found<Data>(
  call: Parameters<typeof attempt<Data>>[0],
  lines: (data: Data) => readonly Found[],
): Answer {
  const outcome: Outcome<Data> = await attempt(call);
  if (outcome.kind === "done") return lines(outcome.data);
  return outcome.kind === "away" ? null : [];
}
