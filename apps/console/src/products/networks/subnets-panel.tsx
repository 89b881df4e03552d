import { LabelTags } from "../../layout/labels.tsx";
import { ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Copyable, Status } from "../../layout/parts.tsx";
import { serverTone } from "../servers/status.ts";
import { serversIn } from "./map-model.ts";
import type { OverviewProps } from "./props.ts";
import { subnetColumns } from "./subnet-columns.tsx";

/** The subnets with the data of the map; each has a page of its own. */
export function SubnetsTable(props: OverviewProps) {
  const { view, network, subnets } = props;
  const { messages } = view;
  const text = messages.networks;
  if (subnets.length === 0) return <p class="hint">{text.noSubnets}</p>;
  return (
    <>
      <div class="list-bar">
        <ListView view={view} list="subnets" columns={subnetColumns(view)} />
      </div>
      <ListTable
        view={view}
        list="subnets"
        caption={`${text.subnets}: ${network.name}`}
        items={subnets}
        name={{
          label: messages.servers.subnet,
          cell: ({ id, name, labels }) => (
            <>
              <a href={`/networks/${network.id}/subnets/${id}`}>{name}</a>
              <LabelTags labels={labels} />
            </>
          ),
        }}
        columns={subnetColumns(view)}
        row={({ id }) => ({ id })}
      />
    </>
  );
}

/** The servers of the network, by subnet and address. */
export function ServersTable({ view, subnets, places }: OverviewProps) {
  const { messages } = view;
  const text = messages.network;
  const rows = subnets.flatMap((subnet) =>
    serversIn(places.servers, subnet.id).map((server) => ({ subnet, server })),
  );
  return (
    <section class="panel" aria-labelledby="servers-title">
      <div class="panel-head">
        <h2 id="servers-title">{text.servers}</h2>
      </div>
      {rows.length === 0 ? (
        <p class="hint">{messages.networkMap.noServers}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.servers}</caption>
          <thead>
            <tr>
              <th scope="col">{messages.common.name}</th>
              <th scope="col">{messages.servers.subnet}</th>
              <th scope="col">{text.privateAddress}</th>
              <th scope="col">{text.publicAddress}</th>
              <th scope="col">{messages.common.status}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ subnet, server }) => (
              <tr id={`${subnet.id}-${server.id}`} data-tone={serverTone(server.status)}>
                <th scope="row">
                  <a href={`/servers/${server.id}`}>{server.name}</a>
                </th>
                <td data-label={messages.servers.subnet}>{subnet.name}</td>
                <td data-label={text.privateAddress}>
                  <Copyable view={view} id={`ip-${subnet.id}-${server.id}`} text={server.address} />
                </td>
                <td class="mono" data-label={text.publicAddress}>
                  {server.publicAddresses.length === 0 ? "–" : server.publicAddresses.join(", ")}
                </td>
                <td data-label={messages.common.status}>
                  <Status tone={serverTone(server.status)}>
                    {messages.servers.status[server.status] ?? server.status}
                  </Status>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
