import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { LabelTags } from "../../layout/labels.tsx";
import type { Column, Columns } from "../../layout/list-table.tsx";
import { CopyButton, Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { managedText } from "./disabled-reason.ts";
import { serverTone } from "./status.ts";

type Server = Schemas["Server"];

/** The column that names a server in the list: its name, whether it is protected, its labels. */
export function serverName(view: View): Column<Server> {
  const { messages } = view;
  return {
    label: messages.common.name,
    sort: "name",
    cell: (server) => (
      <>
        <a href={`/servers/${server.id}`} id={`open-${server.id}`}>
          {server.name}
        </a>
        {server.protection.delete ? (
          <span class="lock" title={messages.servers.protection}>
            <Icon name="lock" size={14} />
            <span class="visually-hidden">{messages.servers.protection}</span>
          </span>
        ) : null}
        {server.managed_by === null ? null : (
          <small class="hint as-of">{managedText(view, server.managed_by)}</small>
        )}
        <LabelTags labels={server.labels} list="/servers" />
      </>
    ),
  };
}

export function serverColumns(view: View): Columns<"servers", Server> {
  const { messages, format } = view;
  return {
    status: {
      label: messages.common.status,
      isPlain: true,
      cell: (server) => <ServerStatus view={view} server={server} />,
    },
    private_ip: {
      label: messages.servers.privateIp,
      class: "mono",
      cell: ({ interfaces }) => interfaces.find(({ primary }) => primary)?.private_ip ?? "–",
    },
    public_ip: {
      label: messages.servers.publicIp,
      class: "mono",
      cell: ({ public_ips }) =>
        public_ips.length === 0
          ? "–"
          : public_ips.map(({ id, address }) => (
              <div class="copyable">
                <span id={`public-${id}`}>{address}</span>
                <CopyButton view={view} source={`public-${id}`} />
              </div>
            )),
    },
    image: { label: messages.servers.image, cell: ({ image }) => image.name },
    package: {
      label: messages.servers.package,
      class: "figures one-line",
      cell: ({ package: { vcpu, memory_mb } }) =>
        `${messages.create.vcpu(format.number(vcpu))} · ${format.memory(memory_mb)}`,
    },
    region: { label: messages.common.region, sort: "region", cell: ({ region }) => region },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function ServerStatus({ view, server }: { readonly view: View; readonly server: Server }) {
  const { messages, format } = view;
  return (
    <>
      <Status tone={serverTone(server.status)}>
        {messages.servers.status[server.status] ?? server.status}
      </Status>
      {server.observation === "stale" && server.observed_at !== null ? (
        <small class="hint as-of">
          {messages.inventory.asOf(format.relative(server.observed_at, view.now))}
        </small>
      ) : null}
      {server.drift === null ? null : (
        <small class="hint as-of">{messages.inventory.differs[server.drift.kind]}</small>
      )}
    </>
  );
}
