import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type CreateGatewayPageProps = {
  readonly view: View;
  readonly network: Schemas["Network"];
  /** Free public IPv4 addresses of the network's region. */
  readonly addresses: readonly Pick<Schemas["PublicIp"], "id" | "address">[];
  /** Ids of the chosen subnets. */
  readonly chosen: readonly string[];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type GatewayPageProps = {
  readonly view: View;
  readonly gateway: Schemas["Gateway"];
  readonly network: Schemas["Network"];
  readonly forwards: readonly Schemas["PortForward"][];
  /** Of the gateway's region. */
  readonly servers: readonly Schemas["Server"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type GatewaysPageProps = {
  readonly view: View;
  readonly gateways: Schemas["GatewayList"];
  readonly networks: readonly Schemas["Network"][];
  /** The networks without a gateway. */
  readonly without: readonly Schemas["Network"][];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};
