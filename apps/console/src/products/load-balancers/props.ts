import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import type { ListQuery } from "../../layout/list-query.ts";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import type { Check } from "../servers/check-outcome-part.tsx";
import type { CreateForm } from "./create-values.ts";

export type LoadBalancersPageProps = {
  readonly view: View;
  readonly balancers: Schemas["LoadBalancerList"];
  readonly networks: readonly Schemas["Network"][];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** The error of the label selector. */
  readonly selectorProblem: string | null;
  readonly banner: PageBanner;
};

export type CreatePageProps = {
  readonly view: View;
  readonly catalog: Schemas["Catalog"];
  readonly networks: readonly Schemas["Network"][];
  /** Of the network of the chosen subnet. */
  readonly servers: readonly Schemas["Server"][];
  readonly publicIps: readonly Schemas["PublicIp"][];
  readonly certificates: readonly Schemas["Certificate"][];
  readonly form: CreateForm;
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  readonly check: Check<Schemas["LoadBalancerDryRun"]>;
  /** The form was sent, rather than checked while it is filled in. */
  readonly isSent: boolean;
  readonly isOpened: boolean;
  readonly idempotencyKey: string;
};

/** What each tab of a load balancer shows. */
export type BalancerTabProps = {
  readonly view: View;
  readonly balancer: Schemas["LoadBalancer"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type SettingsProps = BalancerTabProps & {
  readonly catalog: Schemas["Catalog"];
  readonly resize: {
    /** The one that is chosen. */
    readonly package: string;
    /** Its servers have it, or are getting it. */
    readonly changesNothing: boolean;
    readonly check: Check<Schemas["LoadBalancerDryRun"]>;
  };
};

export type OverviewProps = BalancerTabProps & {
  readonly network: Schemas["Network"];
  readonly listeners: readonly Schemas["Listener"][];
  readonly targets: readonly Schemas["Target"][];
  readonly health: Schemas["LoadBalancerHealth"];
  readonly metrics: Schemas["LoadBalancerMetrics"];
  /** Those that targets name or select. */
  readonly servers: readonly Pick<Schemas["Server"], "id" | "name">[];
};

export type ListenerPageProps = BalancerTabProps & {
  /** Null: a new one. */
  readonly listener: Schemas["Listener"] | null;
  readonly certificates: readonly Schemas["Certificate"][];
};

export type TargetPageProps = BalancerTabProps & {
  /** Null: a new one. */
  readonly target: Schemas["Target"] | null;
  /** Of the load balancer's network, which can be targets. */
  readonly servers: readonly Schemas["Server"][];
};
