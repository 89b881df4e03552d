import { Copyable } from "../../layout/parts.tsx";
import type { NetworkTabProps } from "./props.ts";

/** The server's interfaces, each with its private address, network and subnet. */
export function Interfaces({ view, server, networks }: NetworkTabProps) {
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
