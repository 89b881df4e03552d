import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type PoolPageProps = {
  readonly view: View;
  readonly pool: Schemas["IpPool"];
  readonly shares: Schemas["IpPoolUtilisation"]["organisations"];
  readonly ranges: readonly Schemas["IpPoolRange"][];
  readonly allocations: Schemas["IpPoolAllocationList"];
  readonly organisations: readonly Schemas["Organisation"][];
  readonly cursor: string | undefined;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type IpPoolsPageProps = {
  readonly view: View;
  readonly pools: Schemas["IpPoolList"];
  readonly regions: readonly Schemas["Region"][];
  readonly query: ListQuery;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
