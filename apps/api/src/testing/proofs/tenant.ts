import { randomBytes, randomUUID } from "node:crypto";
import { addMember } from "../add-member.ts";
import { type Answer, ApiCaller } from "../api-caller.ts";
import type { ApiWorld } from "../api-world.ts";
import { claimThis, runJob } from "./region-agent.ts";

const roles = ["owner", "admin", "member", "viewer", "billing"] as const;
export type Role = (typeof roles)[number];

export type TenantRegion = { readonly slug: string; readonly agent: ApiCaller };

export type UsedFirewall = {
  readonly firewall: string;
  readonly firewall_rule: string;
  readonly firewall_attachment: string;
};

export type MemberOfTenant = { readonly id: string; readonly email: string; readonly password: string };

/** An organisation has at most 100 firewalls in a region, and a proof makes more servers than that. */
const USES_OF_A_FIREWALL = 20;
const MOST_SPARE_FIREWALLS = 50;

/** An organisation with a method for everything it can own; all of it created through the public API. */
export class Tenant {
  readonly id: string;
  readonly slug: string;
  readonly callers: Readonly<Record<Role, ApiCaller>>;
  readonly region: TenantRegion;
  /** In every name of this tenant, so that it can be recognised wherever it should not be. */
  readonly mark: string;
  /**
   * A pool of the region with ranges of 16 addresses, and more of them allocated to this tenant than any
   * proof uses.
   */
  #publicNetwork = "";
  #publicBlocks = 0;
  #spareSubnets = 0;
  /** Earliest first. */
  readonly #spareFirewalls: string[] = [];
  #forServers = "";
  #usesLeft = 0;
  #count = 0;

  private constructor(
    id: string,
    slug: string,
    callers: Readonly<Record<Role, ApiCaller>>,
    region: TenantRegion,
    mark: string,
  ) {
    this.id = id;
    this.slug = slug;
    this.callers = callers;
    this.region = region;
    this.mark = mark;
  }

  static async open(world: ApiWorld, slug: string, region: TenantRegion): Promise<Tenant> {
    const organisation = await world.addOrganisation(slug);
    const owner = organisation.owner;
    const callers: Record<string, ApiCaller> = { owner };
    for (const role of roles.slice(1)) {
      const minted = made(await owner.post("/tokens", { name: `${slug} ${role}`, role }));
      callers[role] = new ApiCaller(world.app, minted.secret as string);
    }
    return new Tenant(organisation.id, slug, callers as Record<Role, ApiCaller>, region, `mark-${slug}`);
  }

  get owner(): ApiCaller {
    return this.callers.owner;
  }

  name(): string {
    this.#count += 1;
    return `${this.mark}-${this.#count}`;
  }

  sshKeyBody() {
    const type = Buffer.from("ssh-ed25519");
    const field = (bytes: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([length, bytes]);
    };
    const blob = Buffer.concat([field(type), field(randomBytes(32))]).toString("base64");
    return { name: this.name(), public_key: `ssh-ed25519 ${blob} ${this.mark}`, labels: { of: this.mark } };
  }

  async addSshKey(): Promise<string> {
    return made(await this.owner.post("/ssh-keys", this.sshKeyBody())).id;
  }

  networkBody() {
    return { name: this.name(), region: this.region.slug, cidr: "10.20.0.0/16", labels: { of: this.mark } };
  }

  async addNetwork(): Promise<string> {
    return made(await this.owner.post("/networks", this.networkBody())).network.id;
  }

  subnetBody() {
    return { name: this.name(), tier: "app", labels: { of: this.mark } };
  }

  async addSubnet(networkId: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = { ...this.subnetBody(), ...more };
    return made(await this.owner.post(`/networks/${networkId}/subnets`, body)).subnet.id;
  }

  reservationBody() {
    return { name: this.name(), description: this.mark, labels: { of: this.mark } };
  }

  async addReservation(networkId: string, subnetId: string): Promise<string> {
    const path = `/networks/${networkId}/subnets/${subnetId}/reservations`;
    return made(await this.owner.post(path, this.reservationBody())).id;
  }

  serverBody(more: Readonly<Record<string, unknown>> = {}) {
    return {
      name: this.name(),
      region: this.region.slug,
      image: "ubuntu-24.04",
      package: "s",
      labels: { of: this.mark },
      ...more,
    };
  }

  /** A server whose create job waits in the queue. */
  async addServer(more: Readonly<Record<string, unknown>> = {}): Promise<{ id: string; jobId: string }> {
    const { server, job } = made(await this.owner.post("/servers", this.serverBody(more)));
    return { id: server.id, jobId: job.id };
  }

  /** A running server, with the name that a rebuild asks for. */
  async addNamedServer(more: Readonly<Record<string, unknown>> = {}): Promise<{ id: string; name: string }> {
    const body = this.serverBody(more);
    const { server, job } = made(await this.owner.post("/servers", body));
    await runJob(this.region.agent, job.id);
    return { id: server.id, name: body.name };
  }

  async addRunningServer(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { id, jobId } = await this.addServer(more);
    await runJob(this.region.agent, jobId);
    return id;
  }

  /** A running server that was marked for removal and stopped. */
  async addPendingServer(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const id = await this.addRunningServer(more);
    const { job } = made(await this.owner.delete(`/servers/${id}`));
    await runJob(this.region.agent, job.id, { status: "succeeded", observed: { power_state: "off" } });
    return id;
  }

  async addFailedJob(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { jobId } = await this.addServer(more);
    await runJob(this.region.agent, jobId, {
      status: "failed",
      error: { code: "template_missing", message: "no template", retryable: true },
    });
    return jobId;
  }

  /** A job that the region's agent holds, at epoch 1. */
  async addRunningJob(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { jobId } = await this.addServer(more);
    await claimThis(this.region.agent, jobId);
    return jobId;
  }

  /**
   * Creates a pool for this tenant alone and allocates addresses of it.
   *
   * @param network the first two numbers of its /16, which must be unique
   */
  async openPublicNetwork(world: ApiWorld, network: string): Promise<string> {
    this.#publicNetwork = network;
    const pool = made(
      await world.operator.post("/ip-pools", {
        region: this.region.slug,
        name: this.name(),
        gateway: `${network}.0.1`,
        prefix_length: 16,
      }),
    ).id as string;
    for (let block = 0; block < 2; block += 1)
      made(await world.operator.post(`/ip-pools/${pool}/ranges`, { cidr: `${network}.${block}.0/24` }));
    this.#publicBlocks = 32;
    made(
      await world.operator.post(`/ip-pools/${pool}/allocations`, { organisation_id: this.id, count: 400 }),
    );
    return pool;
  }

  /** 16 addresses of the tenant's pool that are in no range yet. */
  nextPublicBlock(): string {
    const block = this.#publicBlocks;
    this.#publicBlocks += 1;
    return `${this.#publicNetwork}.${Math.floor(block / 16)}.${(block % 16) * 16}/28`;
  }

  async addPublicIp(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = { region: this.region.slug, labels: { of: this.mark }, ...more };
    return made(await this.owner.post("/public-ips", body)).id;
  }

  /** A ticket for the server's console; one that has the serial line is superseded. */
  async addConsoleTicket(serverId: string, type: "serial" | "vnc" = "serial"): Promise<string> {
    const ask = () => this.owner.post(`/servers/${serverId}/console`, { type, take_over: true });
    const answer = await ask();
    if (answer.body.code !== "region_unavailable") return made(answer).session_id;
    // A caller has let the region's agent report, and it has been silent since.
    const hypervisor = { kind: "proxmox", reachable: true };
    made(await this.region.agent.post("/agent/health", { agent_version: "0.0.0", hypervisor }));
    return made(await ask()).session_id;
  }

  /** An address on a running server of its own. */
  async addAttachedPublicIp(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const server = await this.addRunningServer({ ...more, public_ip: "auto" });
    return made(await this.owner.get(`/servers/${server}`)).public_ips[0].id;
  }

  firewallBody() {
    const rules = [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }], description: this.mark }];
    return { name: this.name(), region: this.region.slug, rules, labels: { of: this.mark } };
  }

  async addFirewall(): Promise<string> {
    return made(await this.owner.post("/firewalls", this.firewallBody())).firewall.id;
  }

  /** For one call, whatever becomes of it: the earliest one is deleted when there are many. */
  async addSpareFirewall(): Promise<string> {
    const earliest = this.#spareFirewalls.length < MOST_SPARE_FIREWALLS ? null : this.#spareFirewalls.shift();
    if (earliest) await this.#deleteFirewall(earliest);
    const firewall = await this.addFirewall();
    this.#spareFirewalls.push(firewall);
    return firewall;
  }

  /** Also one that is attached, or that a call has deleted. */
  async #deleteFirewall(id: string): Promise<void> {
    const path = `/firewalls/${id}`;
    const found = await this.owner.get(path);
    if (found.status === 404) return;
    for (const attachment of made(found).attachments)
      made(await this.owner.delete(`${path}/attachments/${attachment.id}`));
    made(await this.owner.delete(path));
  }

  /** For a server that is to be created with it; the next ones get the same. */
  async firewallForServers(): Promise<string> {
    if (this.#usesLeft === 0 && this.#forServers !== "") {
      // Most calls that name it are refused, and leave it as it was.
      const { attachments } = made(await this.owner.get(`/firewalls/${this.#forServers}`));
      this.#usesLeft = Math.max(0, USES_OF_A_FIREWALL - attachments.length);
    }
    if (this.#usesLeft === 0) {
      this.#forServers = await this.addFirewall();
      this.#usesLeft = USES_OF_A_FIREWALL;
    }
    this.#usesLeft -= 1;
    return this.#forServers;
  }

  /** One that is attached to a server of its own, which has its rules. */
  async addUsedFirewall(more: Readonly<Record<string, unknown>> = {}): Promise<UsedFirewall> {
    return this.#use(await this.addFirewall(), more);
  }

  /** The same for one call. */
  async addSpareUsedFirewall(more: Readonly<Record<string, unknown>> = {}): Promise<UsedFirewall> {
    return this.#use(await this.addSpareFirewall(), more);
  }

  async #use(firewall: string, more: Readonly<Record<string, unknown>>): Promise<UsedFirewall> {
    const server = await this.addRunningServer(more);
    const attached = made(await this.owner.post(`/firewalls/${firewall}/attachments`, { server_id: server }));
    await runJob(this.region.agent, attached.job.id);
    const { rules, attachments } = attached.firewall;
    return { firewall, firewall_rule: rules[0].id, firewall_attachment: attachments[0].id };
  }

  gatewayBody(network: string, ...subnets: readonly string[]) {
    return {
      name: this.name(),
      network_id: network,
      subnet_ids: subnets,
      description: this.mark,
      labels: { of: this.mark },
    };
  }

  /** Whether the region has an edge from here on, by its agent's report. */
  async setEdge(isThere: boolean): Promise<void> {
    const hypervisor = { kind: "proxmox", reachable: true };
    const edge = isThere ? { reachable: true } : null;
    made(await this.region.agent.post("/agent/health", { agent_version: "0.0.0", hypervisor, edge }));
  }

  /** A small subnet of a network that a recipe may use up. */
  async addSpareSubnet(network: string): Promise<string> {
    this.#spareSubnets += 1;
    const block = this.#spareSubnets;
    const cidr = `10.20.${128 + Math.floor(block / 16)}.${(block % 16) * 16}/28`;
    return this.addSubnet(network, { cidr });
  }

  /** One of a network of its own, whose only subnet it serves; the edge has it. */
  loadBalancerBody(subnet: string, more: Readonly<Record<string, unknown>> = {}) {
    return {
      name: this.name(),
      subnet_id: subnet,
      description: this.mark,
      labels: { of: this.mark },
      ...more,
    };
  }

  /** With a listener and a target; its server is not made yet. */
  async addLoadBalancer(
    subnet: string,
  ): Promise<{ load_balancer: string; listener: string; target: string }> {
    const body = this.loadBalancerBody(subnet, {
      listeners: [{ protocol: "tcp", port: 80 }],
      targets: [{ label_selector: `of=${this.mark}` }],
    });
    const { load_balancer } = made(await this.owner.post("/load-balancers", body));
    const first = async (part: string) =>
      made(await this.owner.get(`/load-balancers/${load_balancer.id}/${part}`)).items[0].id as string;
    return {
      load_balancer: load_balancer.id,
      listener: await first("listeners"),
      target: await first("targets"),
    };
  }

  async addGateway(): Promise<{ gateway: string; network: string; subnet: string }> {
    const network = await this.addNetwork();
    const subnet = await this.addSubnet(network);
    return { gateway: await this.addGatewayTo(network, subnet), network, subnet };
  }

  async addGatewayTo(network: string, subnet: string): Promise<string> {
    const ask = () => this.owner.post("/gateways", this.gatewayBody(network, subnet));
    let answer = await ask();
    if (answer.body.code === "region_unavailable") {
      // A caller has let the region's agent report that it has no edge.
      await this.setEdge(true);
      answer = await ask();
    }
    const { gateway, job } = made(answer);
    await this.applyToEdge(job.id);
    return gateway.id;
  }

  /** A port of the gateway that is forwarded to the server; the edge has it. */
  async addPortForward(gateway: string, server: string, port: number): Promise<string> {
    const wanted = { protocol: "tcp", listen_port: port, server_id: server, description: this.mark };
    const { port_forward: forward, job } = made(
      await this.owner.post(`/gateways/${gateway}/port-forwards`, wanted),
    );
    await this.applyToEdge(job.id);
    return forward.id;
  }

  /** Lets the region's edge apply its jobs, with success. */
  async applyToEdge(jobId: string): Promise<void> {
    await runJob(this.region.agent, jobId, { status: "succeeded" }, ["NetworkApply"]);
  }

  async addMember(role: Role = "viewer"): Promise<MemberOfTenant> {
    const email = `${this.mark}-${randomUUID()}@example.org`;
    const { member, password } = await addMember(this.owner, { email, name: this.name(), role });
    return { id: member.id, email, password };
  }

  /** A person who is new to the installation. */
  async addInvitation(role: Role = "viewer"): Promise<{ id: string; email: string; secret: string }> {
    const email = `${this.mark}-${randomUUID()}@example.org`;
    const { invitation, secret } = made(await this.owner.post("/invitations", { email, role }));
    return { id: invitation.id, email, secret };
  }

  async addToken(role: Role = "viewer"): Promise<{ id: string; secret: string }> {
    const minted = made(await this.owner.post("/tokens", { name: this.name(), role }));
    return { id: minted.token.id, secret: minted.secret };
  }

  async signIn(world: ApiWorld, member: MemberOfTenant): Promise<ApiCaller> {
    const session = await new ApiCaller(world.app, null).post("/auth/login", {
      email: member.email,
      password: member.password,
    });
    return new ApiCaller(world.app, made(session).token as string);
  }
}

/** The body of an answer that must be a success. */
export function made(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
