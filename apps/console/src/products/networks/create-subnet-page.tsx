import { ApiCall } from "../../layout/api-call-part.tsx";
import { CreateFrame } from "../../layout/create-frame.tsx";
import { pageOf } from "../../resources/resource.ts";
import { exampleSubnet } from "./calls.ts";
import { CreateSubnet } from "./create-subnet-form.tsx";
import type { CreateSubnetPageProps } from "./props.ts";
import { networks } from "./resource.ts";

/** A subnet for the network that the address names. */
export function CreateSubnetPage(props: CreateSubnetPageProps) {
  const { view, network, banner } = props;
  const { createSubnet: title, title: listTitle } = view.messages.networks;
  return (
    <CreateFrame
      view={view}
      section="networks"
      crumbs={[
        { path: "/networks", text: listTitle },
        { path: pageOf(networks, network), text: network.name },
      ]}
      title={title}
      lead={`${network.name} · ${network.cidr}`}
      banner={banner}
    >
      <CreateSubnet {...props} />
      <ApiCall
        view={view}
        id="create-call"
        operation="createSubnet"
        path={{ network_id: network.id }}
        body={exampleSubnet}
      />
    </CreateFrame>
  );
}
