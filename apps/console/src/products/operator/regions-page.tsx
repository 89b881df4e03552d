import { Icon } from "../../layout/icons.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { Fits, type FitsProps } from "./fits.tsx";
import { NoRegions } from "./no-regions.tsx";
import { RegionsCalls } from "./region-calls.tsx";
import { type KnownRegion, RegionPanel } from "./region-panel.tsx";

export type RegionsPageProps = FitsProps & {
  readonly known: readonly KnownRegion[];
  readonly driftCount: string | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

/** How the installation's regions are. */
export function RegionsPage(props: RegionsPageProps) {
  const { view, known, banner, driftCount } = props;
  const { operator } = view.messages;
  return (
    <Shell view={view} title={operator.title} section="operator">
      <OperatorTabs view={view} current="regions" />
      <PageHead title={operator.title} lead={operator.lead}>
        <a class="button" href="/operator/regions/new">
          <Icon name="plus" size={17} />
          {view.messages.regionAdmin.create}
        </a>
      </PageHead>
      <PageNotice banner={banner} />
      <div
        id="regions-live"
        class="stack"
        data-poll=""
        hx-get="/operator"
        hx-trigger="every 10s, refresh"
        hx-select="#regions-live"
        hx-swap="outerMorph"
      >
        {driftCount === null ? null : (
          <Banner kind="warning">
            <a href="/operator/drift">{operator.differs(driftCount)}</a>
          </Banner>
        )}
        {known.length === 0 ? (
          <NoRegions view={view} />
        ) : (
          known.map((each) => <RegionPanel view={view} idempotencyKey={props.idempotencyKey} {...each} />)
        )}
      </div>
      <Fits {...props} />
      <RegionsCalls {...props} />
    </Shell>
  );
}
