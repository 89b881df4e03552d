import type { Assets } from "../assets.ts";
import { mintFormToken } from "../csrf.ts";
import { type Format, formatOf } from "../messages/format.ts";
import { type Language, type Messages, messagesOf } from "../messages/messages.ts";
import type { Session } from "../session.ts";
import type { ListChoices } from "./list-choices.ts";

export const themes = ["light", "dark", "system"] as const;
export type Theme = (typeof themes)[number];

/** What every page needs to be drawn for this browser at this moment. */
export type View = {
  readonly messages: Messages;
  readonly format: Format;
  readonly language: Language;
  readonly theme: Theme;
  /** How this browser wants to see lists. */
  readonly lists: ListChoices;
  readonly session: Session | null;
  readonly assets: Assets;
  readonly now: Date;
  /** Path and query of this page, to come back to. */
  readonly path: string;
  readonly requestId: string;
  /** What a script or stylesheet of this page has to carry to be let in. */
  readonly nonce: string;
  /** The API's root as users reach it, for the calls shown on pages. */
  readonly apiUrl: string;
  /** A fresh token for a form. */
  formToken(): string;
};

export function createView(
  parts: Omit<View, "messages" | "format" | "formToken"> & { readonly formSecret: string },
): View {
  const { formSecret, ...view } = parts;
  return {
    ...view,
    messages: messagesOf(view.language),
    format: formatOf(view.language),
    formToken: () => mintFormToken(formSecret),
  };
}

export function isTheme(value: string | undefined): value is Theme {
  return themes.some((theme) => theme === value);
}
