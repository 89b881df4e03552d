import { ApiCall } from "../../layout/api-call-part.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { CreateGateway } from "./create-form.tsx";
import type { CreateGatewayPageProps } from "./props.ts";

/** A gateway for one network. The form shows in advance which of its subnets can be served. */
export function CreateGatewayPage(props: CreateGatewayPageProps) {
  const { view, network, chosen, banner } = props;
  const { messages } = view;
  const text = messages.gateways;
  return (
    <Shell view={view} title={text.createTitle(network.name)} section="gateways">
      <p class="crumbs">
        <a href={`/networks/${network.id}`}>{network.name}</a>
      </p>
      <PageHead title={text.createTitle(network.name)} lead={text.lead} />
      <PageNotice banner={banner} />
      <section class="panel">
        <CreateGateway {...props} />
        <ApiCall
          view={view}
          id="create-call"
          operation="createGateway"
          body={{ name: "out", network_id: network.id, subnet_ids: chosen, labels: { env: "prod" } }}
        />
      </section>
    </Shell>
  );
}
