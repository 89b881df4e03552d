import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { CreateNetwork } from "./create-form.tsx";
import type { CreateNetworkPageProps } from "./props.ts";
import { networks } from "./resource.ts";

export function CreateNetworkPage(props: CreateNetworkPageProps) {
  const { view, regions, banner } = props;
  return (
    <ResourceCreatePage view={view} resource={networks} banner={banner}>
      <CreateNetwork {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createNetwork"
        body={{ name: "office", region: regions[0]?.slug ?? "ist1", labels: { env: "prod" } }}
      />
    </ResourceCreatePage>
  );
}
