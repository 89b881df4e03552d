import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, CreateLink, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { Fits } from "./fits-panel.tsx";
import { NoRegions } from "./no-regions-part.tsx";
import type { RegionsPageProps } from "./props.ts";
import { regionsCalls } from "./region-calls.ts";
import { RegionPanel } from "./region-panel.tsx";

/** The state of the installation's regions. */
export function RegionsPage(props: RegionsPageProps) {
  const { view, known, banner, driftCount } = props;
  const { operator } = view.messages;
  return (
    <Shell view={view} title={operator.title} section="operator">
      <OperatorTabs view={view} current="regions" />
      <PageHead
        title={operator.title}
        lead={operator.lead}
        api={<ApiDrawer view={view} calls={regionsCalls(props)} />}
      >
        {known.length === 0 ? null : (
          <CreateLink path="/operator/regions/new">{view.messages.regionAdmin.create}</CreateLink>
        )}
      </PageHead>
      <PageNotice banner={banner} />
      <div
        id="regions-live"
        class="stack"
        data-poll=""
        hx-get="/operator/regions"
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
    </Shell>
  );
}
