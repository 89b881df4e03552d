import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type OrganisationPageProps = {
  readonly view: View;
  readonly organisation: Schemas["Organisation"];
  readonly quotas: Schemas["QuotaList"];
  /** Of the current month. */
  readonly usage: Schemas["UsageSummary"];
  readonly segments: readonly Schemas["UsageSegment"][];
  readonly monthFrom: string;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type OrganisationsPageProps = {
  readonly view: View;
  readonly organisations: Schemas["OrganisationList"];
  readonly cursor: string | undefined;
};

export type OrganisationCreatePageProps = {
  readonly view: View;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
