import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type SshKeysPageProps = {
  readonly view: View;
  readonly keys: Schemas["SshKeyList"];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly idempotencyKey: string;
  /** The form that the API refused: an action with the key's id, such as `settings-key_1`. */
  readonly refused: RefusedForm | null;
  readonly banner: PageBanner;
};

export type CreateSshKeyPageProps = {
  readonly view: View;
  readonly form: RefusedForm | null;
  /** The organisation's key that was pasted again. */
  readonly existing: Schemas["SshKey"] | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
