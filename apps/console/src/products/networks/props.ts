import type { Schemas } from "@kule/contract/schemas";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { Places } from "../firewalls/places.ts";
import type { ExplainAnswer } from "./explain-panel.tsx";

export type NetworksPageProps = {
  readonly view: View;
  readonly networks: Schemas["NetworkList"];
  readonly subnets: ReadonlyMap<string, readonly Schemas["Subnet"][]>;
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

export type CreateNetworkPageProps = Forms & { readonly regions: readonly Schemas["CatalogRegion"][] };

export type CreateSubnetPageProps = Forms & { readonly network: Schemas["Network"] };

/** What each tab of a network shows. */
export type NetworkTabProps = Forms & { readonly network: Schemas["Network"] };

export type OverviewProps = NetworkTabProps & {
  readonly subnets: readonly Schemas["Subnet"][];
  /** Of the network's region. */
  readonly places: Places;
  readonly gateway: Schemas["Gateway"] | null;
  readonly asked: ExplainAnswer;
};

/** What each tab of a subnet shows. */
export type SubnetTabProps = Forms & {
  readonly network: Schemas["Network"];
  readonly subnet: Schemas["Subnet"];
};

export type SubnetOverviewProps = SubnetTabProps & {
  readonly reservations: readonly Schemas["Reservation"][];
  readonly addresses: Schemas["SubnetAddressList"];
  /** The only state to show; without it all of them. */
  readonly state: Schemas["AddressState"] | "";
  readonly cursor: string | undefined;
};
