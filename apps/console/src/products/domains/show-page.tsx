import { LabelTags } from "../../layout/labels.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { recordsCalls } from "./calls.ts";
import { headedDomains } from "./head-part.tsx";
import { PendingDeletion } from "./pending-panel.tsx";
import type { RecordsProps } from "./props.ts";
import { Records } from "./records-panel.tsx";
import { domains } from "./resource.ts";
import { Warnings } from "./warnings-part.tsx";

/** Its records, which are edited in place. */
export function RecordsPage(props: RecordsProps) {
  const { view, domain, records, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={domains}
      item={domain}
      head={headedDomains.headOf(view, domain, idempotencyKey)}
      tab="records"
      banner={banner}
      calls={recordsCalls(domain, records.items[0])}
      live={{ seconds: domain.job_id === null ? 10 : 4, gone: "/domains?notice=gone" }}
      still={<Records {...props} page={pageOf(domains, domain)} />}
    >
      <Warnings view={view} domain={domain} on="records" />
      <PendingDeletion {...props} />
      <LabelTags labels={domain.labels} list="/domains" />
    </ResourcePage>
  );
}
