import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { Role } from "../members/roles-panel.tsx";
import type { Access } from "./typed-scopes.ts";

/** The input of the form of a new token. */
export type TokenDraft = {
  readonly name: string;
  readonly role: Role;
  readonly expiresInDays: string;
  readonly access: Access;
  readonly scopes: readonly string[] | null;
  /** Why an operator enters the organisation. */
  readonly reason: string;
};

export type TokensPageProps = {
  readonly view: View;
  readonly tokens: Schemas["TokenList"];
  readonly cursor: string | undefined;
  /** The secret of a token that was just created. */
  readonly secret: string | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type TokenCreatePageProps = {
  readonly view: View;
  readonly me: Schemas["Me"];
  readonly draft: TokenDraft;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
