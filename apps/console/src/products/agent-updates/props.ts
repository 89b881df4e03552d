import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type AgentUpdatesPageProps = {
  readonly view: View;
  readonly releases: Schemas["AgentReleases"];
  readonly settings: Schemas["AgentUpdateSettings"];
  readonly rollouts: Schemas["AgentRolloutList"];
  readonly regions: readonly Schemas["Region"][];
  readonly cursor: string | undefined;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type RolloutPageProps = {
  readonly view: View;
  readonly rollout: Schemas["AgentRollout"];
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
