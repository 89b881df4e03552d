import { ApiCall } from "../../layout/api-call-part.tsx";
import { CreateFrame } from "../../layout/create-frame.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { CreateRegion } from "./create-region-form.tsx";
import type { RegionCreatePageProps } from "./props.ts";
import { toCreateBody } from "./region-values.ts";

/** The first of three steps to a new region; the next page has the other two. */
export function RegionCreatePage(props: RegionCreatePageProps) {
  const { view, values, banner } = props;
  const text = view.messages.regionAdmin;
  return (
    <CreateFrame
      view={view}
      section="operator"
      crumbs={operatorCrumbs(view, "regions")}
      title={text.create}
      lead={text.createLead}
      banner={banner}
      above={<OperatorTabs view={view} current="regions" />}
    >
      <CreateRegion {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createRegion"
        body={toCreateBody({ ...values, slug: values.slug || "izm1", name: values.name || "İzmir 1" }, [])}
      />
    </CreateFrame>
  );
}
