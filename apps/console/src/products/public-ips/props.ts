import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type PublicIpPageProps = {
  readonly view: View;
  readonly ip: Schemas["PublicIp"];
  /** Running and stopped servers of the address's region. */
  readonly servers: readonly Pick<Schemas["Server"], "id" | "name" | "public_ips">[];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type PublicIpsPageProps = {
  readonly view: View;
  readonly ips: Schemas["PublicIpList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  /** The form `take`, if the API refused it. */
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
