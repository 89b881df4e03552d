import { LabelsFact } from "../../layout/labels.tsx";
import { Copyable, When } from "../../layout/parts.tsx";
import type { OverviewProps } from "./props.ts";

/** The server's record. */
export function ServerFacts(props: OverviewProps) {
  const { view, server, sshKeys } = props;
  const { messages, format } = view;
  const keys = server.ssh_key_ids.map((id) => sshKeys.find((key) => key.id === id)?.name ?? id);
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{messages.servers.package}</dt>
          <dd class="figures">
            {server.package.slug.toUpperCase()} · {messages.create.vcpu(format.number(server.package.vcpu))} ·{" "}
            {format.memory(server.package.memory_mb)} · {format.disk(server.disk_gb)}
          </dd>
        </div>
        <PrivateAddresses {...props} />
        <div>
          <dt>{messages.servers.hostname}</dt>
          <dd class="mono">{server.hostname}</dd>
        </div>
        <div>
          <dt>{messages.servers.sshKeys}</dt>
          <dd>{keys.length === 0 ? messages.servers.noKeys : keys.join(", ")}</dd>
        </div>
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={server.created_at} />
          </dd>
        </div>
        <LabelsFact view={view} labels={server.labels} list="/servers" />
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="server-id" text={server.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}

/** Its address in each network; the network tab has the rest. */
function PrivateAddresses({ view, server, networks }: OverviewProps) {
  return (
    <>
      {server.interfaces.map((nic) => (
        <div>
          <dt>{view.messages.servers.address}</dt>
          <dd>
            <Copyable view={view} id={`address-${nic.id}`} text={nic.private_ip} />{" "}
            <a href={`/networks/${nic.network_id}`}>
              {networks.find(({ id }) => id === nic.network_id)?.name ?? nic.network_id}
            </a>
          </dd>
        </div>
      ))}
    </>
  );
}
