import { Offered } from "../../layout/action-button.tsx";
import { EditLabels, LabelTags } from "../../layout/labels.tsx";
import { Copyable, When } from "../../layout/parts.tsx";
import { ConsoleSessions } from "../consoles/sessions-panel.tsx";
import { ServerAddresses } from "./addresses-panel.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { ServerFirewalls } from "./firewalls-panel.tsx";
import type { ShowPageProps } from "./props.ts";
import { servers } from "./resource.ts";
import { ServerSeen } from "./seen-panel.tsx";

/** The server's facts: its record on one side, its observed state and its outside addresses on the other. */
export function ServerFacts(props: ShowPageProps) {
  const { view, server, sshKeys } = props;
  const { messages, format } = view;
  const keys = server.ssh_key_ids.map((id) => sshKeys.find((key) => key.id === id)?.name ?? id);
  return (
    <div class="columns">
      <div class="stack">
        <section class="panel" aria-labelledby="overview-title">
          <div class="panel-head">
            <h2 id="overview-title">{messages.servers.overview}</h2>
          </div>
          <dl class="facts">
            <div>
              <dt>{messages.common.id}</dt>
              <dd>
                <Copyable view={view} id="server-id" text={server.id} />
              </dd>
            </div>
            <div>
              <dt>{messages.servers.package}</dt>
              <dd class="figures">
                {server.package.slug.toUpperCase()} ·{" "}
                {messages.create.vcpu(format.number(server.package.vcpu))} ·{" "}
                {format.memory(server.package.memory_mb)} · {format.disk(server.disk_gb)}
              </dd>
            </div>
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
          </dl>
        </section>
        <Interfaces {...props} />
        <Labels {...props} />
      </div>
      <div class="stack">
        <ServerSeen {...props} />
        <ServerAddresses {...props} />
        <ServerFirewalls {...props} />
        <ConsoleSessions {...props} />
      </div>
    </div>
  );
}

function Interfaces({ view, server, networks }: ShowPageProps) {
  const { messages } = view;
  return (
    <section class="panel" id="network" aria-labelledby="interfaces-title">
      <div class="panel-head">
        <h2 id="interfaces-title">{messages.servers.interfaces}</h2>
      </div>
      {server.interfaces.map((nic) => {
        const network = networks.find(({ id }) => id === nic.network_id);
        const subnet = network?.subnets.find(({ id }) => id === nic.subnet_id);
        return (
          <dl class="facts" id={nic.id}>
            <div>
              <dt>{messages.servers.address}</dt>
              <dd>
                <Copyable view={view} id={`address-${nic.id}`} text={nic.private_ip} />
              </dd>
            </div>
            <div>
              <dt>{messages.servers.network}</dt>
              <dd>
                <a href={`/networks/${nic.network_id}`}>{network?.name ?? nic.network_id}</a>
              </dd>
            </div>
            <div>
              <dt>{messages.servers.subnet}</dt>
              <dd>
                {subnet === undefined ? (
                  <span class="mono">{nic.subnet_id}</span>
                ) : (
                  messages.create.subnetOption(subnet.name, subnet.cidr, messages.networks.tiers[subnet.tier])
                )}
              </dd>
            </div>
            <div>
              <dt>{messages.servers.mac}</dt>
              <dd class="mono">{nic.mac}</dd>
            </div>
          </dl>
        );
      })}
    </section>
  );
}

function Labels({ view, server, refused, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.labels;
  return (
    <section class="panel" id="labels" aria-labelledby="labels-title">
      <div class="panel-head">
        <h2 id="labels-title">{texts.title}</h2>
      </div>
      {Object.keys(server.labels).length === 0 ? (
        <p class="hint">{texts.empty}</p>
      ) : (
        <LabelTags labels={server.labels} list="/servers" />
      )}
      <Offered view={view} permission="server:update">
        <EditLabels
          view={view}
          resource={servers}
          item={server}
          why={disabledReason(view, server, "update", "server:update")}
          form={refused}
          idempotencyKey={idempotencyKey}
        />
      </Offered>
    </section>
  );
}
