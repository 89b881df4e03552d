import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { CreatePublicIp } from "./create-form.tsx";
import type { CreatePublicIpPageProps } from "./props.ts";
import { publicIps } from "./resource.ts";

/** Reserves one more of the addresses that the operator has allocated. */
export function CreatePublicIpPage(props: CreatePublicIpPageProps) {
  const { view, regions, banner } = props;
  return (
    <ResourceCreatePage
      view={view}
      resource={publicIps}
      banner={banner}
      lead={view.messages.publicIps.takeHint}
    >
      <CreatePublicIp {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createPublicIp"
        body={{ region: regions[0]?.slug ?? "ist1", labels: { role: "web" } }}
      />
    </ResourceCreatePage>
  );
}
