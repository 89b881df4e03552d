import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type ChooseNetworkPageProps = {
  readonly view: View;
  /** Whether the organisation has a network at all. */
  readonly hasNetworks: boolean;
  /** The networks without a gateway. */
  readonly without: readonly Schemas["Network"][];
};

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

/** What each tab of a gateway shows. */
export type GatewayTabProps = {
  readonly view: View;
  readonly gateway: Schemas["Gateway"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type OverviewProps = GatewayTabProps & {
  readonly network: Schemas["Network"];
  readonly forwards: readonly Schemas["PortForward"][];
  /** Of the gateway's region. */
  readonly servers: readonly Schemas["Server"][];
};

export type GatewaysPageProps = {
  readonly view: View;
  readonly gateways: Schemas["GatewayList"];
  readonly networks: readonly Schemas["Network"][];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};
