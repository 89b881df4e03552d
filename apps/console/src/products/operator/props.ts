import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { ImportForm } from "./import-values.ts";
import type { KnownRegion } from "./region-panel.tsx";
import type { RegionValues } from "./region-values.ts";

export type ReconcilePageProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type InvariantsPageProps = {
  readonly view: View;
  readonly report: Schemas["InvariantReport"];
  /** A check was requested, and no worker answered. */
  readonly isUnanswered: boolean;
};

export type RegionPageProps = {
  readonly view: View;
  readonly region: Schemas["Region"];
  readonly tokens: readonly Schemas["Token"][];
  readonly organisations: readonly Schemas["Organisation"][];
  /** The secret of a new token. */
  readonly secret: string | null;
  /** The command line with a new code. */
  readonly enrolment: string | null;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type RestorePageProps = {
  readonly view: View;
  readonly report: Schemas["RestoreReport"];
  readonly held: Schemas["HeldVmList"];
  readonly cursor: string | undefined;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type LockPageProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type DriftPageProps = {
  readonly view: View;
  readonly drift: Schemas["DriftList"];
  readonly regions: readonly Schemas["Region"][];
  readonly organisations: readonly Schemas["Organisation"][];
  readonly filter: { readonly region: string; readonly kind: Schemas["DriftKind"] | "" };
  readonly cursor: string | undefined;
};

export type ImportPageProps = {
  readonly view: View;
  readonly form: ImportForm;
  readonly regions: readonly Schemas["Region"][];
  readonly organisations: readonly Schemas["Organisation"][];
  readonly catalog: Schemas["Catalog"] | null;
  readonly networks: readonly Schemas["Network"][];
  /** Guests of the chosen region that can be imported, from the last scan. */
  readonly foreign: readonly Schemas["Drift"][];
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  /** The result of the check: no refusals, or a list of them; null without a check. */
  readonly check: { readonly blockers: readonly string[] } | null;
};

export type FitsProps = {
  readonly view: View;
  readonly regions: readonly Schemas["Region"][];
  readonly organisations: readonly Schemas["Organisation"][];
  /** Null without an organisation to ask for. */
  readonly catalog: Schemas["Catalog"] | null;
  /** The question and the API's answer; null before the first question. */
  readonly asked: {
    readonly form: RefusedForm;
    readonly answer: Schemas["CatalogAnswer"] | null;
    readonly problem: string | null;
  } | null;
};

export type StuckJobsPageProps = {
  readonly view: View;
  readonly jobs: Schemas["StuckJobList"];
  readonly regions: readonly Schemas["Region"][];
  readonly filter: { readonly region: string; readonly reason: Schemas["StuckReason"] | "" };
  readonly cursor: string | undefined;
};

export type RegionCreatePageProps = {
  readonly view: View;
  readonly values: RegionValues;
  readonly organisations: readonly Schemas["Organisation"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type RegionsPageProps = FitsProps & {
  readonly known: readonly KnownRegion[];
  readonly driftCount: string | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type OperatorJobsPageProps = {
  readonly view: View;
  readonly jobs: Schemas["OperatorJobList"];
  readonly regions: readonly Schemas["Region"][];
  readonly filter: { readonly region: string; readonly status: Schemas["JobStatus"] | "" };
  readonly cursor: string | undefined;
};
