import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type CertificatesPageProps = {
  readonly view: View;
  readonly certificates: Schemas["CertificateList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};

/** What a page with forms shows after one of them was refused, and the beginning of their keys. */
type Forms = {
  readonly view: View;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type CreateCertificatePageProps = Forms & {
  readonly regions: readonly Schemas["CatalogRegion"][];
};

/** What each tab of a certificate shows. */
export type CertificateTabProps = Forms & { readonly certificate: Schemas["Certificate"] };

export type OverviewProps = CertificateTabProps & {
  /** How its names are proven; none of an uploaded one, and null while too many others are being looked up. */
  readonly challenges: readonly Schemas["CertificateChallenge"][] | null;
  /** Those that use it, as far as the role may read them. */
  readonly balancers: readonly Pick<Schemas["LoadBalancer"], "id" | "name">[];
};
