import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { Places } from "./places.ts";
import type { DraftRule } from "./rule-draft.ts";
import type { TestAnswer } from "./test-panel.tsx";

export type RulesPageProps = {
  readonly view: View;
  readonly firewall: Schemas["Firewall"];
  readonly places: Places;
  readonly rules: readonly DraftRule[];
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  /** The field that receives the focus after a button has changed the rows. */
  readonly focus: string | null;
  /** The version of the firewall from which the rows were made. */
  readonly generation: string;
  readonly idempotencyKey: string;
};

/** What each tab of a firewall shows. */
type FirewallTabProps = {
  readonly view: View;
  readonly firewall: Schemas["Firewall"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type OverviewProps = FirewallTabProps & {
  readonly places: Places;
  readonly asked: TestAnswer;
};

export type SettingsProps = FirewallTabProps & {
  /** The other firewalls of its region. */
  readonly others: readonly Schemas["Firewall"][];
};

export type FirewallsPageProps = {
  readonly view: View;
  readonly firewalls: Schemas["FirewallList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};

export type CreateFirewallPageProps = {
  readonly view: View;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
