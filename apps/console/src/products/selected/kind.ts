import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import type { Outcome } from "../../api.ts";
import type { CalledOperation } from "../../api-operation.ts";
import type { View } from "../../layout/view.ts";
import type { Messages } from "../../messages/messages.ts";
import type { AnyItem, Resource } from "../../resources/resource.ts";
import { may } from "../../session.ts";

/** An action on several resources of a kind at once: each of them is one call, as from its own page. */
export type SelectedAction<Item> = {
  /** The required permission; without it the action is not offered. */
  readonly permission: string;
  /** Whether it is destructive. */
  readonly isDanger?: true;
  /** Whether it cannot be undone: then the name of the one, or the number of several, is typed to confirm it. */
  readonly isTyped?: true;
  /** Why the action is unavailable for this resource, in the page's language; null when it is available. */
  why(view: View, item: Item): string | null;
  /** The call for one resource. */
  called(item: Item): CalledOperation;
};

/** The texts about a selection of this kind. */
export type SelectedTexts<Act extends string> = {
  count(items: number): string;
  readonly acts: Readonly<Record<Act, string>>;
  readonly titles: Readonly<Record<Act, (items: string) => string>>;
  readonly leads: Readonly<Record<Act, string>>;
};

/** A kind of resources of which several can be selected in their list. */
export type SelectedKind<Item extends AnyItem, Act extends string = string> = {
  readonly resource: Resource<Item>;
  readonly acts: Readonly<Record<Act, SelectedAction<Item>>>;
  texts(messages: Messages): SelectedTexts<Act>;
  /** Its current status. */
  state(view: View, item: Item): Child;
};

/** An action that is one operation of the contract for each resource. */
export function operationAct<Item extends AnyItem>(
  resource: Resource<Item>,
  operation: OperationId,
  why: (view: View, item: Item) => string | null,
  body?: object,
): SelectedAction<Item> {
  return {
    permission: operations[operation].permission,
    why,
    called: (item) => ({ operation, path: resource.idsOf(item), ...(body === undefined ? {} : { body }) }),
  };
}

/** Deletes each of them; it cannot be undone. */
export function deleteAct<Item extends AnyItem>(
  resource: Resource<Item>,
  why: (view: View, item: Item) => string | null,
): SelectedAction<Item> {
  return { ...operationAct(resource, resource.operations.delete, why), isDanger: true, isTyped: true };
}

/** The actions of a kind that the role may use at all. */
export function offeredActions<Item extends AnyItem, Act extends string>(
  { session }: View,
  kind: SelectedKind<Item, Act>,
): Act[] {
  return actNames(kind).filter((act) => session === null || may(session, kind.acts[act].permission));
}

/** The action of that name, if the kind has it. */
export function actNamed<Item extends AnyItem, Act extends string>(
  kind: SelectedKind<Item, Act>,
  name: string | null,
): Act | undefined {
  return actNames(kind).find((act) => act === name);
}

/** The typed confirmation of a destructive action: the name of the one, or the number of several. */
export function confirmationOf<Item extends AnyItem, Act extends string>(
  kind: SelectedKind<Item, Act>,
  act: Act,
  items: readonly Item[],
): string | null {
  const [only] = items;
  if (kind.acts[act].isTyped !== true || only === undefined) return null;
  return items.length === 1 ? kind.resource.nameOf(only) : String(items.length);
}

const actNames = <Item extends AnyItem, Act extends string>({ acts }: SelectedKind<Item, Act>) =>
  Object.keys(acts) as Act[];

/** The result of one of several calls. */
export type SelectedEnd<Item> = { readonly item: Item; readonly outcome: Outcome<unknown> };
