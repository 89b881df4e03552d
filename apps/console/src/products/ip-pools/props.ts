import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

/** What each tab of a pool shows. */
export type PoolTabProps = {
  readonly view: View;
  readonly pool: Schemas["IpPool"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type OverviewProps = PoolTabProps & {
  readonly shares: Schemas["IpPoolUtilisation"]["organisations"];
  readonly ranges: readonly Schemas["IpPoolRange"][];
  readonly allocations: Schemas["IpPoolAllocationList"];
  readonly organisations: readonly Schemas["Organisation"][];
  readonly cursor: string | undefined;
};

export type IpPoolsPageProps = {
  readonly view: View;
  readonly pools: Schemas["IpPoolList"];
  readonly regions: readonly Schemas["Region"][];
  readonly query: ListQuery;
  readonly banner: PageBanner;
};

export type CreatePoolPageProps = {
  readonly view: View;
  readonly regions: readonly Schemas["Region"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
