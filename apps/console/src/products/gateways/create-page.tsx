import { ApiCall } from "../../layout/api-call-part.tsx";
import { CreateFrame } from "../../layout/create-frame.tsx";
import { Icon } from "../../layout/icons.tsx";
import { CreateLink } from "../../layout/parts.tsx";
import { ResourceCreatePage } from "../../resources/create-page.tsx";
import { createPath, listCrumbs } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { networks } from "../networks/resource.ts";
import { CreateGateway } from "./create-form.tsx";
import type { ChooseNetworkPageProps, CreateGatewayPageProps } from "./props.ts";
import { gateways } from "./resource.ts";

/** The first step of a new gateway: its network. */
export function ChooseNetworkPage({ view, hasNetworks, without }: ChooseNetworkPageProps) {
  const { messages, session } = view;
  const text = messages.gateways;
  return (
    <ResourceCreatePage view={view} resource={gateways} banner={null} lead={text.lead}>
      {without.length > 0 ? (
        <div class="act-group">
          {without.map(({ id, name }) => (
            <a class="button" href={`${createPath(gateways)}?network=${id}`}>
              <Icon name="plus" size={15} />
              {text.giveTo(name)}
            </a>
          ))}
        </div>
      ) : (
        <>
          <p>{hasNetworks ? text.noNetworks : text.firstNetwork}</p>
          {session === null || may(session, "network:create") ? (
            <CreateLink path={createPath(networks)}>{messages.networks.create}</CreateLink>
          ) : null}
        </>
      )}
    </ResourceCreatePage>
  );
}

/** A gateway for one network. The form shows in advance which of its subnets can be served. */
export function CreateGatewayPage(props: CreateGatewayPageProps) {
  const { view, network, chosen, banner } = props;
  const { messages } = view;
  const text = messages.gateways;
  return (
    <CreateFrame
      view={view}
      section={gateways.section}
      crumbs={[...listCrumbs(gateways, messages), { path: createPath(gateways), text: text.give }]}
      title={text.createTitle(network.name)}
      lead={text.lead}
      banner={banner}
    >
      <CreateGateway {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createGateway"
        body={{ name: "out", network_id: network.id, subnet_ids: chosen, labels: { env: "prod" } }}
      />
    </CreateFrame>
  );
}
