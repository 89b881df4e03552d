import type { Schemas } from "@kule/contract/schemas";
import type { Violation } from "@kule/invariants/violation";
import type { Settings } from "../platform/settings.ts";
import type { Answer } from "./api-caller.ts";
import { ServerWorld } from "./server-world.ts";

export type NetworkOf<Tier extends string> = { readonly id: string } & { readonly [tier in Tier]: string };

/**
 * A region with an edge, and an organisation with allocated addresses there: where gateways can be created.
 */
export class GatewayWorld {
  readonly servers: ServerWorld;
  readonly pool: string;
  #named = 0;

  private constructor(servers: ServerWorld, pool: string) {
    this.servers = servers;
    this.pool = pool;
  }

  static async open(settings: Partial<Settings> = {}, addresses = 60): Promise<GatewayWorld> {
    const servers = await ServerWorld.open({ removalBufferSeconds: 3600, ...settings });
    const { operator } = servers.world;
    await must(
      servers.agent.api.post("/agent/health", {
        agent_version: "0.0.0",
        hypervisor: { kind: "proxmox", reachable: true },
        edge: { reachable: true },
      }),
    );
    const pool = await must(
      operator.post("/ip-pools", {
        region: servers.region,
        name: "public",
        gateway: "203.0.113.1",
        prefix_length: 24,
        vlan: 77,
      }),
    );
    await must(operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: "203.0.113.0/24" }));
    await must(
      operator.post(`/ip-pools/${pool.id}/allocations`, {
        organisation_id: servers.organisation.id,
        count: addresses,
      }),
    );
    return new GatewayWorld(servers, pool.id);
  }

  name(): string {
    this.#named += 1;
    return `thing-${this.#named}`;
  }

  /** A network with a subnet of each tier, on the edge. */
  async network(): Promise<NetworkOf<"app" | "mgmt" | "data">> {
    const { owned, region } = this.servers;
    const { network } = await must(
      owned.post("/networks", { name: this.name(), region, cidr: "10.20.0.0/16" }),
    );
    const ids: Record<string, string> = {};
    for (const tier of ["app", "mgmt", "data"])
      ids[tier] = (await must(owned.post(`/networks/${network.id}/subnets`, { name: tier, tier }))).subnet.id;
    await this.settle();
    return { id: network.id, ...ids } as NetworkOf<"app" | "mgmt" | "data">;
  }

  create(network: { readonly id: string }, more: object = {}): Promise<Answer> {
    return this.servers.owned.post("/gateways", { name: this.name(), network_id: network.id, ...more });
  }

  /** One that the edge has. */
  async gateway(
    network: { readonly id: string },
    ...subnets: readonly string[]
  ): Promise<Schemas["Gateway"]> {
    const { gateway } = await must(this.create(network, { subnet_ids: subnets }));
    await this.settle();
    return this.get(gateway.id);
  }

  async get(id: string): Promise<Schemas["Gateway"]> {
    return must(this.servers.owned.get(`/gateways/${id}`));
  }

  forward(gateway: { readonly id: string }, server: string, more: object = {}): Promise<Answer> {
    return this.servers.owned.post(`/gateways/${gateway.id}/port-forwards`, {
      protocol: "tcp",
      listen_port: 443,
      server_id: server,
      target_port: 8443,
      ...more,
    });
  }

  /** A server that runs in the subnet. */
  async server(subnetId: string): Promise<Answer["body"]> {
    return this.servers.createRunning({ subnet_id: subnetId });
  }

  /** The payloads of the networks' last jobs; runs everything that waits. */
  async settle(): Promise<Map<string, Schemas["NetworkApplyPayload"]>> {
    const told = new Map<string, Schemas["NetworkApplyPayload"]>();
    for (const { payload } of (await this.servers.agent.work()) as readonly {
      readonly payload: Schemas["JobPayload"];
    }[])
      if (payload.kind === "NetworkApply") told.set(payload.network.id, payload);
    return told;
  }

  violations(): Promise<Violation[]> {
    return this.servers.violations();
  }

  close(): Promise<void> {
    return this.servers.close();
  }
}

/** The body of an answer that must be a success. */
export async function must(answer: Promise<Answer>): Promise<Answer["body"]> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
