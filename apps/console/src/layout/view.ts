import type { Assets } from "../assets.ts";
import { mintFormToken } from "../csrf.ts";
import { type Format, formatOf } from "../messages/format.ts";
import { type Language, type Messages, messagesOf } from "../messages/messages.ts";
import type { Session } from "../session.ts";
import type { ListChoices } from "./list-choices.ts";

export const themes = ["light", "dark", "system"] as const;
export type Theme = (typeof themes)[number];

/** What rendering a page needs of this browser and request. */
export type View = {
  readonly messages: Messages;
  readonly format: Format;
  readonly language: Language;
  readonly theme: Theme;
  /** This browser's settings for its lists. */
  readonly lists: ListChoices;
  readonly session: Session | null;
  readonly assets: Assets;
  readonly now: Date;
  /** Path and query of this page, for the way back. */
  readonly path: string;
  readonly requestId: string;
  /** The nonce that a script or stylesheet of this page must carry. */
  readonly nonce: string;
  /** The API's root as users reach it, for the calls shown on pages. */
  readonly apiUrl: string;
  /** Creates a fresh token for a form. */
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
