import { ApiCall } from "../../layout/api-call-part.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { CreateRegion } from "./create-region-form.tsx";
import type { RegionCreatePageProps } from "./props.ts";
import { toCreateBody } from "./region-values.ts";

/** The first of three steps to a new region; the next page has the other two. */
export function RegionCreatePage(props: RegionCreatePageProps) {
  const { view, values, banner } = props;
  const text = view.messages.regionAdmin;
  return (
    <Shell view={view} title={text.create} section="operator">
      <OperatorTabs view={view} current="regions" />
      <PageHead title={text.create} lead={text.createLead} />
      <PageNotice banner={banner} />
      <section class="panel">
        <CreateRegion {...props} />
      </section>
      <ApiCall
        view={view}
        id="create-call"
        operation="createRegion"
        body={toCreateBody({ ...values, slug: values.slug || "izm1", name: values.name || "İzmir 1" }, [])}
      />
    </Shell>
  );
}
