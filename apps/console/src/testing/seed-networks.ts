import { fakePublicIp } from "./fake-public-ips.ts";
import { fakeActions, fakeNetwork, fakeServer, fakeSubnet, usageOf } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

const tiers = [
  ["app", "app", 3],
  ["jobs", "app", 1],
  ["admin", "mgmt", 1],
  ["db", "data", 2],
] as const;

/** A network with subnets of every tier and servers in them, and two more beside it. */
export function seedNetworks(state: FakeState): void {
  const network = fakeNetwork(
    { name: "shop", cidr: "10.20.0.0/16", description: "The shop and its workers" },
    true,
  );
  state.networks.push(network);
  let index = 0;
  for (const [at, [name, tier, count]] of tiers.entries()) {
    const subnet = fakeSubnet({ name, tier, cidr: `10.20.${at}.0/24` }, network);
    state.subnets.push({
      ...subnet,
      gateway_ip: `10.20.${at}.1`,
      usage: usageOf(253, count),
    });
    network.subnets.push({ id: subnet.id, name, tier, cidr: subnet.cidr });
    for (let number = 1; number <= count; number++, index++) {
      const server = fakeServer(
        {
          name: `${name}-${number}`,
          image: "debian-13",
          package: "s",
          subnet_id: subnet.id,
          private_ip: `10.20.${at}.${9 + number}`,
          labels: { role: tier === "app" ? "web" : tier },
        },
        network,
        index,
      );
      server.status = number === 3 ? "stopped" : "running";
      server.actions = fakeActions(server);
      state.servers.push(server);
    }
  }
  const [first] = state.servers;
  if (first !== undefined) {
    const ip = fakePublicIp("203.0.113.10", first);
    state.publicIps.push(ip);
    first.public_ips.push({
      id: ip.id,
      address: ip.address,
      version: 4,
      status: "attached",
      requires_reboot: false,
    });
  }
  for (const [name, cidr] of [
    ["staging", "10.20.0.0/16"],
    ["office", "10.30.0.0/16"],
  ] as const)
    state.networks.push(fakeNetwork({ name, cidr }, false));
}
