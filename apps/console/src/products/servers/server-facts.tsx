import { Copyable, Status, When } from "../../layout/parts.tsx";
import { publicIpTones } from "../public-ips/list-page.tsx";
import { ServerSeen } from "./server-seen.tsx";
import { serverTone } from "./server-status.ts";
import type { ShowPageProps } from "./show-page.tsx";

/** What the server is: overview and interfaces. */
export function ServerFacts(props: ShowPageProps) {
  const { view, server, sshKeys } = props;
  const { messages, format } = view;
  const keys = server.ssh_key_ids.map((id) => sshKeys.find((key) => key.id === id)?.name ?? id);
  return (
    <div class="columns">
      <section class="panel" aria-labelledby="overview-title">
        <div class="panel-head">
          <h2 id="overview-title">{messages.servers.overview}</h2>
          <Status tone={serverTone(server.status)}>
            {messages.servers.status[server.status] ?? server.status}
          </Status>
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
              {server.package.slug.toUpperCase()} · {messages.create.vcpu(format.number(server.package.vcpu))}{" "}
              · {format.memory(server.package.memory_mb)} · {format.disk(server.package.disk_gb)}
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
          {Object.keys(server.labels).length === 0 ? null : (
            <div>
              <dt>{messages.servers.labels}</dt>
              <dd class="tags">
                {Object.entries(server.labels).map(([key, value]) => (
                  <span class="tag mono">{value === "" ? key : `${key}=${value}`}</span>
                ))}
              </dd>
            </div>
          )}
        </dl>
      </section>
      <ServerSeen {...props} />
      <Interfaces {...props} />
      <PublicAddresses {...props} />
    </div>
  );
}

function PublicAddresses({ view, server }: ShowPageProps) {
  const text = view.messages.publicIps;
  return (
    <section class="panel" aria-labelledby="public-ips-title">
      <div class="panel-head">
        <h2 id="public-ips-title">{text.title}</h2>
      </div>
      {server.public_ips.length === 0 ? (
        <p class="hint">
          {text.none} · <a href="/public-ips">{text.attach}</a>
        </p>
      ) : null}
      {server.public_ips.map((ip) => (
        <dl class="facts">
          <div>
            <dt>{`IPv${ip.version}`}</dt>
            <dd>
              <Copyable view={view} id={`public-${ip.id}`} text={ip.address} />
            </dd>
          </div>
          <div>
            <dt>{view.messages.common.status}</dt>
            <dd>
              <a href={`/public-ips#${ip.id}`}>
                <Status tone={ip.requires_reboot ? "warning" : publicIpTones[ip.status]}>
                  {text.status[ip.status]}
                </Status>
              </a>
              {ip.requires_reboot ? <p class="hint">{text.requiresReboot}</p> : null}
            </dd>
          </div>
        </dl>
      ))}
    </section>
  );
}

function Interfaces({ view, server, networks }: ShowPageProps) {
  const { messages } = view;
  return (
    <section class="panel" aria-labelledby="interfaces-title">
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
                <a href={`/networks#${nic.network_id}`}>{network?.name ?? nic.network_id}</a>
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
