import { ApiCall } from "../../layout/api-call-part.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { CreateFirewall, startingRules } from "./create-form.tsx";
import type { CreateFirewallPageProps } from "./props.ts";
import { firewalls } from "./resource.ts";

export function CreateFirewallPage(props: CreateFirewallPageProps) {
  const { view, regions, banner } = props;
  return (
    <ResourceCreatePage view={view} resource={firewalls} banner={banner}>
      <CreateFirewall {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createFirewall"
        body={{
          name: "web",
          region: regions[0]?.slug ?? "ist1",
          rules: startingRules.web,
          labels: { env: "prod" },
        }}
      />
    </ResourceCreatePage>
  );
}
