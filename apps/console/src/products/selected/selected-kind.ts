import type { ApiClient } from "@kule/contract/client";
import type { Child } from "hono/jsx";
import type { Outcome } from "../../api.ts";
import type { CalledOperation } from "../../api-operation.ts";
import type { Section } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { Messages } from "../../messages/messages.ts";
import { may } from "../../session.ts";

/** An act that can be asked of several resources of a kind at once: each of them is one call, as from its own page. */
export type SelectedAct<Item> = {
  /** What the role needs; without it the act is not offered. */
  readonly permission: string;
  /** It takes something away. */
  readonly isDanger?: true;
  /** What it takes away does not come back: the name of the one, or the number of several, is typed to confirm it. */
  readonly isTyped?: true;
  /** Why this one cannot be asked for it now, in the page's language; null when it can. */
  why(view: View, item: Item): string | null;
  /** The call for one of them, as the page shows it. */
  called(id: string): CalledOperation;
  /** One call for one of them; the key makes a repeat of the form harmless. */
  ask(api: ApiClient, id: string, key: string): Promise<Outcome<unknown>>;
};

/** What pages say of a kind of resources of which several are chosen. */
export type SelectedTexts<Act extends string> = {
  count(items: number): string;
  readonly acts: Readonly<Record<Act, string>>;
  readonly titles: Readonly<Record<Act, (items: string) => string>>;
  readonly leads: Readonly<Record<Act, string>>;
};

/** A kind of resources of which several can be chosen in their list. */
export type SelectedKind<Item, Act extends string = string> = {
  /** The address of the list. */
  readonly page: string;
  readonly section: Section;
  /** What identifiers of the kind begin with. */
  readonly prefix: string;
  readonly acts: Readonly<Record<Act, SelectedAct<Item>>>;
  texts(messages: Messages): SelectedTexts<Act>;
  /** Null when the session sees no such resource. */
  read(api: ApiClient, id: string): Promise<Item | null>;
  nameOf(item: Item): { readonly id: string; readonly name: string };
  /** Where it has a page of its own. */
  pathOf(id: string): string | null;
  /** How it is now. */
  state(view: View, item: Item): Child;
};

/** The acts of a kind that the role may ask for at all. */
export function offeredActs<Item, Act extends string>(
  { session }: View,
  kind: SelectedKind<Item, Act>,
): Act[] {
  return actNames(kind).filter((act) => session === null || may(session, kind.acts[act].permission));
}

/** The act of that name, if the kind has it. */
export function actNamed<Item, Act extends string>(
  kind: SelectedKind<Item, Act>,
  name: string | null,
): Act | undefined {
  return actNames(kind).find((act) => act === name);
}

/** What is typed to confirm an act that takes something away: the name of the one, or the number of several. */
export function confirmationOf<Item, Act extends string>(
  kind: SelectedKind<Item, Act>,
  act: Act,
  items: readonly Item[],
): string | null {
  const [only] = items;
  if (kind.acts[act].isTyped !== true || only === undefined) return null;
  return items.length === 1 ? kind.nameOf(only).name : String(items.length);
}

const actNames = <Item, Act extends string>({ acts }: SelectedKind<Item, Act>) => Object.keys(acts) as Act[];

/** How one call of several ended. */
export type SelectedEnd<Item> = { readonly item: Item; readonly outcome: Outcome<unknown> };
