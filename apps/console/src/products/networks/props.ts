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
  /** The key `network`, or the network's id for its subnet form. */
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type NetworkPageProps = {
  readonly view: View;
  readonly network: Schemas["Network"];
  readonly subnets: readonly Schemas["Subnet"][];
  /** Of the network's region. */
  readonly places: Places;
  readonly gateway: Schemas["Gateway"] | null;
  readonly asked: ExplainAnswer;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type SubnetPageProps = {
  readonly view: View;
  readonly network: Schemas["Network"];
  readonly subnet: Schemas["Subnet"];
  readonly reservations: readonly Schemas["Reservation"][];
  readonly addresses: Schemas["SubnetAddressList"];
  /** The only subnet to show; without it all of them. */
  readonly state: Schemas["AddressState"] | "";
  readonly cursor: string | undefined;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
