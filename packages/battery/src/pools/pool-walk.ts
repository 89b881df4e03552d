import { jobHandlers } from "@kule/api/products/job-handlers";
import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { ApiWorld } from "@kule/api/testing/api-world";
import { type ClaimedJob, TestAgent } from "@kule/api/testing/test-agent";
import { cleanUp } from "@kule/api/worker/clean-up";
import { expireLeases } from "@kule/api/worker/expire-leases";
import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import type pg from "pg";
import { type PoolModel, PUBLIC, REGION, VLAN_RANGE, VMID_RANGE } from "./pool-model.ts";
import { VmAddresses } from "./vm-addresses.ts";

type Organisation = { readonly id: string; readonly api: ApiCaller };

/** A pool of public addresses, most of them allocated to the organisations. */
async function addPool(world: ApiWorld, organisations: readonly string[]): Promise<void> {
  const { gateway, prefixLength, cidr, allocated } = PUBLIC;
  const pool = await world.operator.post("/ip-pools", {
    region: REGION,
    name: "public",
    gateway,
    prefix_length: prefixLength,
  });
  const made = [pool, await world.operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr })];
  for (const id of organisations)
    made.push(
      await world.operator.post(`/ip-pools/${pool.body.id}/allocations`, {
        organisation_id: id,
        count: allocated / organisations.length,
      }),
    );
  for (const { status, body } of made) if (status !== 201) throw new Error(JSON.stringify(body));
}

/** Customers, an agent and time, at random: every operation that allocates or releases something. */
export class PoolWalk {
  readonly #world: ApiWorld;
  readonly #owner: pg.Pool;
  readonly #model: PoolModel;
  readonly #random: () => number;
  readonly #agent: TestAgent;
  readonly #organisations: readonly Organisation[];
  readonly #owners = new Map<string, Organisation>();
  readonly #failedJobs = new Map<string, Organisation>();
  readonly #vms = new VmAddresses();
  #named = 0;
  operations = 0;
  moves = 0;
  /** Answers that no operation may have. */
  readonly surprises: string[] = [];

  private constructor(
    world: ApiWorld,
    owner: pg.Pool,
    model: PoolModel,
    random: () => number,
    agent: TestAgent,
    organisations: readonly Organisation[],
  ) {
    this.#world = world;
    this.#owner = owner;
    this.#model = model;
    this.#random = random;
    this.#agent = agent;
    this.#organisations = organisations;
  }

  static async begin(world: ApiWorld, owner: pg.Pool, model: PoolModel, random: () => number) {
    const { agent } = await world.addRegion(REGION, { vmid_range: VMID_RANGE, vlan_range: VLAN_RANGE });
    const organisations: Organisation[] = [];
    for (const slug of ["one", "two", "three"]) {
      const { id, owner: api } = await world.addOrganisation(slug);
      organisations.push({ id, api });
    }
    await addPool(
      world,
      organisations.map(({ id }) => id),
    );
    return new PoolWalk(world, owner, model, random, new TestAgent(agent), organisations);
  }

  /** One random operation. */
  async step(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.18) await this.#createServer();
    else if (dice < 0.23) await this.#createSubnet();
    else if (dice < 0.26) await this.#deleteSubnet();
    else if (dice < 0.33) await this.#deleteServer();
    else if (dice < 0.36) await this.#changeServer("cancel-deletion");
    else if (dice < 0.42) await this.#endBuffer();
    else if (dice < 0.45) await this.#retryOrCancelJob();
    else if (dice < 0.48) await this.#passTime();
    else if (dice < 0.52) await this.#takePublicIp();
    else if (dice < 0.64) await this.#attachPublicIp();
    else if (dice < 0.66) await this.#detachPublicIp();
    else if (dice < 0.68) await this.#releasePublicIp();
    else await this.#work();
  }

  /** Everything is deleted and all rests are over: what is not free after this has leaked. */
  async drain(): Promise<void> {
    for (let round = 0; this.#model.servers.size > 0 && round < 20; round += 1) {
      for (const id of [...this.#model.servers.keys()]) {
        await this.#count(this.#of(id).api.delete(`/servers/${id}`));
        await this.#endBufferOf(id);
      }
      const { rows } = await this.#owner.query<{ id: string }>(
        "select id from job where kind = 'ServerDestroy' and status = 'failed'",
      );
      for (const { id } of rows) {
        const organisation = this.#failedJobs.get(id);
        if (organisation !== undefined) await this.#count(organisation.api.post(`/jobs/${id}/retry`));
      }
      await this.#passBackoff();
      await this.#passLeases();
      for (let job = await this.#claim(); job !== null; job = await this.#claim()) await this.#succeed(job);
    }
    for (const [id, address] of [...this.#model.publicIps]) {
      const answer = await this.#count(this.#ofIp(id).api.delete(`/public-ips/${id}`));
      if (answer.status === 204) this.#released(id);
      else
        this.surprises.push(`${address} of no server cannot be given back: ${JSON.stringify(answer.body)}`);
    }
    await this.#passRests();
    for (const [subnet, network] of [...this.#model.subnets]) {
      const organisation = this.#organisations.find((each) => this.#networks.get(network) === each);
      const answer = await this.#count(
        (organisation ?? this.#any(this.#organisations)).api.delete(`/networks/${network}/subnets/${subnet}`),
      );
      if (answer.status === 204) this.#model.subnets.delete(subnet);
      else this.surprises.push(`an empty subnet cannot be deleted: ${JSON.stringify(answer.body)}`);
    }
  }

  readonly #networks = new Map<string, Organisation>();

  async #createServer(): Promise<void> {
    const organisation = this.#any(this.#organisations);
    const own = [...this.#model.subnets].filter(
      ([, network]) => this.#networks.get(network) === organisation,
    );
    const subnet = own.length > 0 && this.#random() < 0.8 ? this.#any(own)[0] : undefined;
    this.#named += 1;
    const answer = await this.#count(
      organisation.api.post("/servers", {
        name: `server-${this.#named}`,
        region: REGION,
        image: "debian-13",
        package: "s",
        ...(subnet === undefined ? {} : { subnet_id: subnet }),
        ...(this.#random() < 0.3 ? { public_ip: "auto" } : {}),
      }),
    );
    if (answer.status !== 202) return;
    for (const ip of answer.body.server.public_ips) this.#took(organisation, ip);
    const { id, interfaces } = answer.body.server;
    const { subnet_id: given } = interfaces[0];
    if (!this.#model.subnets.has(given)) {
      const { network_id: network } = await this.#subnetOf(given);
      this.#networks.set(network, organisation);
      this.#model.subnets.set(given, network);
    }
    this.#model.servers.set(id, given);
    this.#owners.set(id, organisation);
  }

  readonly #ipOwners = new Map<string, Organisation>();

  async #takePublicIp(): Promise<void> {
    const organisation = this.#any(this.#organisations);
    const answer = await this.#count(organisation.api.post("/public-ips", { region: REGION }));
    if (answer.status === 201) this.#took(organisation, answer.body);
  }

  #took(
    organisation: Organisation,
    { id, address }: { readonly id: string; readonly address: string },
  ): void {
    const other = [...this.#model.publicIps].find(([, each]) => each === address);
    if (other !== undefined) this.surprises.push(`${address} was taken twice: ${other[0]} and ${id}`);
    if (this.#model.resting.has(address)) this.surprises.push(`${address} was handed out while it rests`);
    const vms = this.#vms.withAddress(address);
    if (vms.length > 0) this.surprises.push(`${address} was handed out while ${vms.join(", ")} may have it`);
    this.#model.publicIps.set(id, address);
    this.#ipOwners.set(id, organisation);
  }

  /** To a server of the same organisation, often away from another one, and often while that one goes. */
  async #attachPublicIp(): Promise<void> {
    const id = this.#any([...this.#model.publicIps.keys()]);
    if (id === undefined) return;
    const organisation = this.#ofIp(id);
    const own = [...this.#owners].filter(
      ([server, each]) => each === organisation && this.#model.servers.has(server),
    );
    const server = this.#any(own)?.[0];
    if (server === undefined) return;
    const force = this.#random() < 0.85;
    const answer = await this.#count(
      organisation.api.post(`/public-ips/${id}/attach`, { server_id: server, force }),
    );
    if (answer.status === 202) this.moves += 1;
  }

  async #detachPublicIp(): Promise<void> {
    const id = this.#any([...this.#model.publicIps.keys()]);
    if (id !== undefined) await this.#count(this.#ofIp(id).api.post(`/public-ips/${id}/detach`));
  }

  async #releasePublicIp(): Promise<void> {
    const id = this.#any([...this.#model.publicIps.keys()]);
    if (id === undefined) return;
    const answer = await this.#count(this.#ofIp(id).api.delete(`/public-ips/${id}`));
    if (answer.status === 204) this.#released(id);
  }

  #released(id: string): void {
    const address = this.#model.publicIps.get(id) ?? "";
    const vms = this.#vms.withAddress(address);
    if (vms.length > 0) this.surprises.push(`${address} was given back while ${vms.join(", ")} may have it`);
    this.#model.publicIps.delete(id);
    this.#model.resting.add(address);
  }

  #ofIp(id: string): Organisation {
    const organisation = this.#ipOwners.get(id);
    if (organisation === undefined) throw new Error(`${id} is nobody's`);
    return organisation;
  }

  async #subnetOf(id: string): Promise<{ network_id: string }> {
    const { rows } = await this.#owner.query<{ network_id: string }>(
      "select network_id from subnet where id = $1",
      [id],
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`no subnet ${id}`);
    return row;
  }

  async #createSubnet(): Promise<void> {
    const organisation = this.#any(this.#organisations);
    this.#named += 1;
    let network = [...this.#networks].find(([, owner]) => owner === organisation)?.[0];
    if (network === undefined) {
      const made = await this.#count(
        organisation.api.post("/networks", { name: `network-${this.#named}`, region: REGION }),
      );
      if (made.status !== 201 && made.status !== 202) return;
      network = (made.body.network ?? made.body).id as string;
      this.#networks.set(network, organisation);
    }
    const answer = await this.#count(
      organisation.api.post(`/networks/${network}/subnets`, { name: `subnet-${this.#named}`, tier: "app" }),
    );
    if (answer.status < 300) this.#model.subnets.set(answer.body.subnet.id, network);
  }

  async #deleteSubnet(): Promise<void> {
    const [subnet, network] = this.#any([...this.#model.subnets]) ?? [];
    const organisation = this.#networks.get(network ?? "");
    if (subnet === undefined || organisation === undefined) return;
    const answer = await this.#count(organisation.api.delete(`/networks/${network}/subnets/${subnet}`));
    if (answer.status === 204) this.#model.subnets.delete(subnet);
  }

  async #deleteServer(): Promise<void> {
    const id = this.#anyServer();
    if (id !== undefined) await this.#count(this.#of(id).api.delete(`/servers/${id}`));
  }

  async #changeServer(action: string): Promise<void> {
    const id = this.#anyServer();
    if (id !== undefined) await this.#count(this.#of(id).api.post(`/servers/${id}/${action}`));
  }

  async #endBuffer(): Promise<void> {
    const { rows } = await this.#owner.query<{ id: string }>(
      "select id from server where status = 'pending_deletion' order by id",
    );
    const row = this.#any(rows);
    if (row !== undefined) await this.#endBufferOf(row.id);
  }

  async #endBufferOf(id: string): Promise<void> {
    this.operations += 1;
    await this.#owner.query(
      "update server set purge_at = clock_timestamp() - interval '1 second' where id = $1 and status = 'pending_deletion'",
      [id],
    );
    await expireRemovalBuffer(this.#world.replica.deps, this.#of(id).id, id);
  }

  async #retryOrCancelJob(): Promise<void> {
    const [job, organisation] = this.#any([...this.#failedJobs]) ?? [];
    if (organisation !== undefined && this.#random() < 0.7) {
      const answer = await this.#count(organisation.api.post(`/jobs/${job}/retry`));
      if (answer.status !== 202) this.#failedJobs.delete(job ?? "");
      return;
    }
    const any = this.#any(this.#organisations);
    const { body } = await this.#count(any.api.get("/jobs?status=queued&status=running&limit=50"));
    const open = this.#any((body.items ?? []) as { id: string }[]);
    if (open !== undefined) await this.#count(any.api.post(`/jobs/${open.id}/cancel`));
  }

  async #passTime(): Promise<void> {
    this.operations += 1;
    const dice = this.#random();
    if (dice < 0.4) await this.#passLeases();
    else if (dice < 0.8) await this.#passBackoff();
    else await this.#passRests();
  }

  async #passLeases(): Promise<void> {
    await this.#owner.query(
      "update job set lease_until = clock_timestamp() - interval '1 second' where status = 'running'",
    );
    await expireLeases(this.#world.replica.deps, jobHandlers);
  }

  async #passBackoff(): Promise<void> {
    await this.#owner.query(
      // Not of those that wait for another server's job.
      "update job set run_at = clock_timestamp() - interval '1 second' where status = 'queued' and run_at < '9999-01-01'",
    );
  }

  async #passRests(): Promise<void> {
    await this.#owner.query(
      `update region_vmid set free_after = clock_timestamp() - interval '1 second' where state = 'tombstone';
       update address set free_after = clock_timestamp() - interval '1 second' where state = 'quarantined';
       update public_address set free_after = clock_timestamp() - interval '1 second' where state = 'quarantined'`,
    );
    this.#model.resting.clear();
    this.#model.freedVmids += (await cleanUp(this.#world.replica.deps.db)).vmids;
  }

  /** The agent claims a job and ends it in one of the possible ways, or reports nothing more. */
  async #work(): Promise<void> {
    const job = await this.#claim();
    if (job === null) return;
    const dice = this.#random();
    const error = { code: "step_failed", message: "It did not work", step: "clone" };
    if (dice < 0.62) await this.#succeed(job);
    else if (dice < 0.76) {
      await this.#end(job, { status: "failed", error });
      this.#failedJobs.set(job.id, this.#of(job.payload.server.id));
    } else if (dice < 0.84) await this.#end(job, { status: "retry", error });
    else if (dice < 0.88) await this.#end(job, { status: "released" });
    else if (dice < 0.93 && job.kind === "ServerCreate") await this.#replaceVmid(job);
    // Otherwise its lease passes some time.
  }

  async #replaceVmid(job: ClaimedJob): Promise<void> {
    const before = job.payload.vmid;
    const why = this.#random() < 0.5 ? "taken" : "quarantined";
    const error = { code: `vmid_${why}`, message: "The VM number cannot be used" };
    await this.#end(job, { status: "failed", error, observed: { power_state: "off", vmid_unusable: why } });
    const { rows } = await this.#owner.query<{ details: { why: string } }>(
      "select details from audit where action = 'vmid.replace' and details ->> 'job' = $1",
      [job.id],
    );
    const replaced = rows.length - (this.#replaced.get(job.id) ?? 0);
    this.#replaced.set(job.id, rows.length);
    this.#model.replacedVmids += replaced;
    if (replaced > 1) this.surprises.push(`VM number ${before} was replaced ${replaced} times at once`);
  }

  readonly #replaced = new Map<string, number>();

  async #succeed(job: ClaimedJob): Promise<void> {
    const isOn = "start" in job.payload && job.payload.start;
    const done = await this.#end(job, {
      status: "succeeded",
      observed: { power_state: isOn ? "on" : "off" },
    });
    if (!done) return;
    this.#vms.ended(job.payload);
    if (job.kind !== "ServerDestroy") return;
    this.#model.servers.delete(job.payload.server.id);
    this.#model.destroyed += 1;
  }

  async #end(job: ClaimedJob, outcome: object): Promise<boolean> {
    const { status } = await this.#count(this.#agent.report(job, { phase: "verify", outcome }));
    return status === 200;
  }

  async #claim(): Promise<ClaimedJob | null> {
    const { status, body } = await this.#count(this.#agent.claimRaw());
    if (status !== 200) return null;
    const job = body.job as ClaimedJob;
    this.surprises.push(...this.#vms.begun(job.payload));
    return job;
  }

  /** Refusals are answers; what is broken is not. */
  async #count<T extends { readonly status: number; readonly body: unknown }>(call: Promise<T>): Promise<T> {
    this.operations += 1;
    const answer = await call;
    if (answer.status >= 500) this.surprises.push(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  #of(server: string): Organisation {
    const organisation = this.#owners.get(server);
    if (organisation === undefined) throw new Error(`${server} is nobody's`);
    return organisation;
  }

  #anyServer(): string | undefined {
    return this.#any([...this.#model.servers.keys()]);
  }

  #any<T>(items: readonly T[]): T;
  #any<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }
}
