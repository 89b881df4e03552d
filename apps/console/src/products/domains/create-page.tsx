import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { CreateDomain } from "./create-form.tsx";
import type { CreateDomainPageProps } from "./props.ts";
import { domains } from "./resource.ts";

export function CreateDomainPage(props: CreateDomainPageProps) {
  const { view, banner } = props;
  return (
    <ResourceCreatePage view={view} resource={domains} banner={banner}>
      <CreateDomain {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createDomain"
        body={{
          name: "example.com",
          ttl: 3600,
          zone_file: "www 300 IN A 192.0.2.10\n",
          labels: { env: "prod" },
        }}
      />
    </ResourceCreatePage>
  );
}
