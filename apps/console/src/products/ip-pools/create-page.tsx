import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { NoRegions } from "../operator/no-regions-part.tsx";
import { CreatePool } from "./create-form.tsx";
import type { CreatePoolPageProps } from "./props.ts";
import { ipPools } from "./resource.ts";

/** A pool of one region. */
export function CreatePoolPage(props: CreatePoolPageProps) {
  const { view, regions, banner } = props;
  const [region] = regions;
  return (
    <ResourceCreatePage
      view={view}
      resource={ipPools}
      banner={banner}
      lead={view.messages.ipPools.createHint}
    >
      {region === undefined ? (
        <NoRegions view={view} />
      ) : (
        <>
          <CreatePool {...props} />
          <ApiCall
            view={view}
            id="create-call"
            operation="createIpPool"
            body={{ region: region.slug, name: "public", gateway: "203.0.113.1", prefix_length: 24 }}
          />
        </>
      )}
    </ResourceCreatePage>
  );
}
