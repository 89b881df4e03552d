import { randomUUID } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import { followTargets, keepLoadBalancers } from "../products/load-balancers/index.ts";
import { serverHooks } from "../products/server-hooks.ts";
import type { Answer } from "./api-caller.ts";
import { GatewayWorld, must } from "./gateway-world.ts";
import type { ServerWorld } from "./server-world.ts";

type LoadBalancer = Schemas["LoadBalancer"];
type Payload = Schemas["LoadBalancerApplyPayload"];
type Report = Schemas["LoadBalancerMachineReport"];

/** A network in which load balancers can be created, with public addresses. */
export class LoadBalancerWorld {
  readonly gateways: GatewayWorld;
  readonly network: string;
  readonly subnet: string;

  private constructor(gateways: GatewayWorld, network: string, subnet: string) {
    this.gateways = gateways;
    this.network = network;
    this.subnet = subnet;
  }

  static async open(): Promise<LoadBalancerWorld> {
    const gateways = await GatewayWorld.open();
    const { id, app } = await gateways.network();
    return new LoadBalancerWorld(gateways, id, app);
  }

  get servers(): ServerWorld {
    return this.gateways.servers;
  }

  get owned() {
    return this.servers.owned;
  }

  body(more: object = {}): Record<string, unknown> {
    return { name: this.gateways.name(), subnet_id: this.subnet, ...more };
  }

  post(more: object = {}): Promise<Answer> {
    return this.owned.post("/load-balancers", this.body(more));
  }

  async create(more: object = {}): Promise<LoadBalancer> {
    return (await must(this.post(more))).load_balancer;
  }

  /** One that serves. */
  async active(more: object = {}): Promise<LoadBalancer> {
    const { id } = await this.create(more);
    await this.settle();
    return this.get(id);
  }

  get(id: string): Promise<LoadBalancer> {
    return must(this.owned.get(`/load-balancers/${id}`));
  }

  health(id: string): Promise<Schemas["LoadBalancerHealth"]> {
    return must(this.owned.get(`/load-balancers/${id}/health`));
  }

  /** A server that runs in the load balancers' subnet. */
  server(more: object = {}): Promise<Answer["body"]> {
    return this.servers.createRunning({ subnet_id: this.subnet, ...more });
  }

  /** Does all jobs that wait. @returns the payloads of the load balancers', in their order */
  async settle(): Promise<Payload[]> {
    const done = (await this.servers.agent.work()) as readonly { readonly payload: Schemas["JobPayload"] }[];
    return done.flatMap(({ payload }) => (payload.kind === "LoadBalancerApply" ? [payload] : []));
  }

  /** The worker's task after a change of servers. */
  follow(): Promise<number> {
    const { world, organisation, region } = this.servers;
    return followTargets(world.replica.deps.db, organisation.id, region);
  }

  /** One pass of the worker's task. */
  keep() {
    return keepLoadBalancers({ ...this.servers.world.replica.deps, hooks: serverHooks });
  }

  /** A call of the region's agent; the reports are completed. */
  async report(...reports: readonly Partial<Report>[]): Promise<Answer["body"]> {
    return must(this.tell({ after: null, reports: reports.map((each) => ({ ...silentReport, ...each })) }));
  }

  tell(body: object, agent = this.servers.agent.api): Promise<Answer> {
    return agent.post("/agent/load-balancers", { agent_version: "0.1.0", reports: [], ...body });
  }

  /** As if the last round had been so much earlier. */
  async passTime(id: string, seconds: number): Promise<void> {
    await this.servers.owner.query(
      `update load_balancer_sight set asked_at = asked_at - make_interval(secs => $2),
              answered_at = answered_at - make_interval(secs => $2) where load_balancer_id = $1`,
      [id, seconds],
    );
  }

  /** Rounds of 30 s with these reports. */
  async missAsks(id: string, rounds: number, ...reports: readonly Partial<Report>[]): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      await this.passTime(id, 30);
      await this.report(...reports);
    }
  }

  /** The region's scans have seen that the server's VM is not there. */
  async loseVm(serverId: string): Promise<void> {
    await this.servers.owner.query(
      `insert into drift (id, region, vmid, kind, organisation_id, server_id, message, sightings, pass, first_seen_at, last_seen_at)
       select 'drf_' || $2, v.region, v.vmid, 'missing', s.organisation_id, s.id, 'gone', 9, 1, now(), now()
         from server s join region_vmid v on v.server_id = s.id and v.state = 'used' where s.id = $1`,
      [serverId, randomUUID()],
    );
  }

  violations() {
    return this.gateways.violations();
  }

  close(): Promise<void> {
    return this.gateways.close();
  }
}

const silentReport: Omit<Report, "load_balancer_id" | "server_id"> = {
  slot: 1,
  asked_after_ms: 0,
  seen_after_ms: null,
  status: null,
};

export const bootId = "0b54c8a6-1111-4222-8333-444455556666";

/** What a machine says that is well and has nothing. */
export const wellStatus: Schemas["LoadBalancerMachineStatus"] = {
  boot_id: bootId,
  generation: 1,
  worker_pid: 100,
  worker_started: 1_795_710_654,
  old_workers: 0,
  failed_reloads: 0,
  connections: 3,
  most_connections: 15_420,
  role: null,
  listeners: [],
  former: [],
  checks: [],
  omitted_listeners: 0,
  omitted_targets: 0,
};

/** What it says of a listener. */
export const listenerStatus = (id: string, more: object = {}) => ({
  id,
  is_open: true,
  connections: 2,
  connections_per_second: 5,
  requests_per_second: 7,
  connections_denied: 0,
  requests_denied: 0,
  request_errors: 0,
  responses: [0, 40, 0, 1, 0],
  connections_total: 10,
  requests_total: 41,
  errors_total: 2,
  bytes_in: 1_000,
  bytes_out: 90_000,
  ...more,
});
