import { ApiCall } from "../../layout/api-call-part.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
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
    <Shell
      view={view}
      title={`${title} · ${network.name}`}
      section="networks"
      crumbs={[
        { path: "/networks", text: listTitle },
        { path: pageOf(networks, network), text: network.name },
      ]}
      here={title}
    >
      <PageHead title={title} lead={`${network.name} · ${network.cidr}`} />
      <PageNotice banner={banner} />
      <section class="panel create" aria-label={title}>
        <CreateSubnet {...props} />
        <ApiCall
          view={view}
          id="create-call"
          operation="createSubnet"
          path={{ network_id: network.id }}
          body={exampleSubnet}
        />
      </section>
    </Shell>
  );
}
