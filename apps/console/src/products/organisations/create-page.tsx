import { CreateFrame } from "../../layout/create-frame.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { CreateOrganisation } from "./create-form.tsx";
import type { OrganisationCreatePageProps } from "./props.ts";

export function OrganisationCreatePage(props: OrganisationCreatePageProps) {
  const { view, banner } = props;
  return (
    <CreateFrame
      view={view}
      section="operator"
      crumbs={operatorCrumbs(view, "organisations")}
      title={view.messages.organisations.create}
      banner={banner}
      above={<OperatorTabs view={view} current="organisations" />}
    >
      <CreateOrganisation {...props} />
    </CreateFrame>
  );
}
