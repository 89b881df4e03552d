import type { Schemas } from "@kule/contract/schemas";
import { certificateHooks } from "../products/certificate-hooks.ts";
import { stepOrder } from "../products/certificates/index.ts";
import { keepLoadBalancers } from "../products/load-balancers/index.ts";
import { serverHooks } from "../products/server-hooks.ts";
import type { ApiCaller } from "./api-caller.ts";
import { must } from "./gateway-world.ts";
import { IssuingWorld } from "./issuing-world.ts";
import { wellStatus } from "./load-balancer-world.ts";
import { RunningBalancer } from "./running-balancer.ts";

type Payload = Schemas["LoadBalancerApplyPayload"];
type Tenant = { readonly id: string; readonly owner: ApiCaller };

/** Domain of the names that are proven, at the registry of the test's Internet. */
const zone = "shop.test";

/**
 * A CA, a region in which load balancers can be created, and names that lead to them. Two things are not as on the Internet: no
 * packet for a public address comes to this machine, so the CA's own resolver says of every name that it is here, and what the CA
 * asks is answered by a haproxy at a port of its own.
 */
export class AnsweringWorld {
  readonly issuing: IssuingWorld;
  readonly running: RunningBalancer;
  readonly #pool: string;
  #named = 0;

  private constructor(issuing: IssuingWorld, pool: string) {
    this.issuing = issuing;
    this.running = new RunningBalancer(issuing.pebble.httpPort);
    this.#pool = pool;
  }

  static async open(): Promise<AnsweringWorld> {
    const issuing = await IssuingWorld.open();
    const { operator } = issuing.served.world;
    const pool = await must(
      operator.post("/ip-pools", { region: "r1", name: "public", gateway: "203.0.113.1", prefix_length: 24 }),
    );
    await must(operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: "203.0.113.0/24" }));
    await issuing.served.provider.createZone(zone, [`ns1.${zone}`]);
    return new AnsweringWorld(issuing, pool.id);
  }

  get own(): Tenant {
    const { organisation, owner } = this.issuing;
    return { id: organisation.id, owner };
  }

  /** An organisation with addresses and a network of its own. @returns the subnet for its load balancers */
  async subnetOf({ id, owner }: Tenant): Promise<string> {
    const { operator } = this.issuing.served.world;
    await must(operator.post(`/ip-pools/${this.#pool}/allocations`, { organisation_id: id, count: 10 }));
    const { network } = await must(
      owner.post("/networks", { name: "balanced", region: "r1", cidr: "10.20.0.0/16" }),
    );
    const { subnet } = await must(
      owner.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }),
    );
    await this.settle();
    return subnet.id;
  }

  /** One that serves, with a public address and an http listener on port 80 unless `more` says otherwise. */
  async balancer({ owner }: Tenant, subnet_id: string, more: object = {}) {
    this.#named += 1;
    const { load_balancer } = await must(
      owner.post("/load-balancers", {
        name: `front-${this.#named}`,
        subnet_id,
        public_ip: "auto",
        listeners: [{ protocol: "http", port: 80, target_port: 8080 }],
        ...more,
      }),
    );
    const payloads = await this.settle();
    const now: Schemas["LoadBalancer"] = await must(owner.get(`/load-balancers/${load_balancer.id}`));
    return { id: now.id, address: now.public_ip?.address ?? "", payload: payloads.at(-1) };
  }

  /** Does all jobs of the region that wait, of which none may be for a certificate. @returns those of load balancers */
  async settle(): Promise<Payload[]> {
    const done = (await this.issuing.agent.work()) as readonly { readonly payload: Schemas["JobPayload"] }[];
    return done.flatMap(({ payload }) => (payload.kind === "LoadBalancerApply" ? [payload] : []));
  }

  /** A name that has these addresses, by the Internet's name servers. */
  async name(ipv4: readonly string[], ipv6: readonly string[] = []): Promise<string> {
    this.#named += 1;
    const name = `n${this.#named}.${zone}`;
    await this.lead(name, ipv4, ipv6);
    await this.issuing.served.provider.changeZone(zone, [
      {
        change: "replace",
        recordSet: { name: `${name}.`, type: "A", ttlSeconds: 60, contents: ["127.0.0.1"] },
      },
    ]);
    return name;
  }

  lead(name: string, ipv4: readonly string[], ipv6: readonly string[] = []): Promise<void> {
    return this.issuing.served.register({
      [`${name} A`]: ipv4,
      ...(ipv6.length === 0 ? {} : { [`${name} AAAA`]: ipv6 }),
    });
  }

  /** A certificate for the names whose key the region has made: the CA can be asked. */
  async ready(names: readonly string[], { owner }: Tenant = this.own): Promise<string> {
    this.#named += 1;
    const { certificate } = await must(
      owner.post("/certificates", {
        name: `over-http-${this.#named}`,
        type: "managed",
        region: "r1",
        challenge: "http",
        domain_names: names,
      }),
    );
    await this.issuing.makeKey();
    return certificate.id;
  }

  /** The next step of its order. @returns the state that it is in then; "none" without an order */
  async step(id: string, { id: organisationId }: Tenant = this.own): Promise<string> {
    const { served, deps, ca } = this.issuing;
    await served.rows("update certificate_order set step_at = now() where certificate_id = $1", [id]);
    await stepOrder({ deps, ca, hooks: certificateHooks }, organisationId, id);
    return this.issuing.stateOf(id);
  }

  async challenges(id: string, { owner }: Tenant = this.own): Promise<Schemas["CertificateChallenge"][]> {
    return (await must(owner.get(`/certificates/${id}/challenges`))).items;
  }

  /** Why the last attempt has failed. */
  async lastError(id: string, { owner }: Tenant = this.own): Promise<Schemas["CertificateError"] | null> {
    return (await must(owner.get(`/certificates/${id}`))).renewal.last_error;
  }

  /** Whether an order was placed at the CA and is not given up. */
  async isOrdered(id: string): Promise<boolean> {
    const [row] = await this.issuing.served.rows(
      "select order_url from certificate_order where certificate_id = $1",
      [id],
    );
    return row?.order_url != null;
  }

  /** One pass of the worker's task. */
  keep(more: { readonly mostAnswering?: number } = {}) {
    return keepLoadBalancers({ ...this.issuing.deps, hooks: serverHooks, ...more });
  }

  /** The VM of its machine is gone, as the region has seen. */
  async loseMachine({ id }: { readonly id: string }, { owner }: Tenant = this.own): Promise<void> {
    const { machines } = await must(owner.get(`/load-balancers/${id}`));
    const [{ server_id }] = machines;
    const report = { load_balancer_id: id, slot: 1, server_id, asked_after_ms: 0, seen_after_ms: 0 };
    await must(
      this.issuing.agent.api.post("/agent/load-balancers", {
        agent_version: "0.1.0",
        reports: [{ ...report, status: wellStatus }],
        after: null,
      }),
    );
    await this.issuing.served.rows(
      `insert into drift (id, region, vmid, kind, organisation_id, server_id, message, sightings, pass, first_seen_at, last_seen_at)
       select 'drf_' || s.id, v.region, v.vmid, 'missing', s.organisation_id, s.id, 'gone', 9, 1, now(), now()
         from server s join region_vmid v on v.server_id = s.id and v.state = 'used' where s.id = $1`,
      [server_id],
    );
  }

  async close(): Promise<void> {
    await this.running.close();
    await this.issuing.close();
  }
}
