import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { exampleMaterial } from "./calls.ts";
import { CreateCertificate } from "./create-form.tsx";
import type { CreateCertificatePageProps } from "./props.ts";
import { certificates } from "./resource.ts";

export function CreateCertificatePage(props: CreateCertificatePageProps) {
  const { view, banner, regions } = props;
  return (
    <ResourceCreatePage
      view={view}
      resource={certificates}
      banner={banner}
      lead={view.messages.certificates.createLead}
    >
      <CreateCertificate {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createCertificate"
        body={{ name: "shop", type: "uploaded", region: regions[0]?.slug ?? "", ...exampleMaterial }}
      />
    </ResourceCreatePage>
  );
}
