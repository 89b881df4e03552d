import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type AccountPageProps = {
  readonly view: View;
  readonly sessions: readonly Schemas["LoginSession"][];
  readonly security: Schemas["AccountSecurity"];
  readonly providers: readonly Schemas["OidcProvider"][];
  readonly banner: PageBanner;
  readonly form: RefusedForm | null;
  /** The key of this page's actions, so that a repeat is harmless. */
  readonly idempotencyKey: string;
};
