import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

/** What each tab of an address shows. */
export type PublicIpTabProps = {
  readonly view: View;
  readonly ip: Schemas["PublicIp"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type OverviewProps = PublicIpTabProps & {
  /** Running and stopped servers of the address's region. */
  readonly servers: readonly Pick<Schemas["Server"], "id" | "name" | "public_ips">[];
};

export type PublicIpsPageProps = {
  readonly view: View;
  readonly ips: Schemas["PublicIpList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};

export type CreatePublicIpPageProps = {
  readonly view: View;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
