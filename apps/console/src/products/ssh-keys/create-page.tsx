import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { CreateSshKey } from "./create-form.tsx";
import type { CreateSshKeyPageProps } from "./props.ts";
import { sshKeys } from "./resource.ts";

export function CreateSshKeyPage(props: CreateSshKeyPageProps) {
  const { view, banner } = props;
  return (
    <ResourceCreatePage view={view} resource={sshKeys} banner={banner}>
      <CreateSshKey {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createSshKey"
        body={{ name: "laptop", public_key: "ssh-ed25519 AAAA… ada@laptop", labels: { team: "ops" } }}
      />
    </ResourceCreatePage>
  );
}
