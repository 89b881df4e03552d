import type { Answer } from "@kule/api/testing/api-caller";
import { LoadBalancerWorld } from "@kule/api/testing/load-balancer-world";
import { madeUpload, reportSealingKey } from "@kule/api/testing/made-upload";
import { made } from "@kule/api/testing/proofs/tenant";
import type { Schemas } from "@kule/contract/schemas";
import { findFreePort } from "@kule/postgres/free-port";
import { openSecret, type SealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import { differences } from "../guest-input/cloud-init-check.ts";
import type { Payload, Shown } from "./plain-twin.ts";

/** What one text was in every field of load balancers and certificates that takes one. */
export type Trial = {
  readonly accepted: readonly string[];
  readonly refused: number;
  readonly violations: readonly string[];
  /** What the region is told afterwards; null when nothing has changed. */
  readonly payload: Payload | null;
};

/** Where an address can be written, of the network's and of others. */
const insideOf = "10.20.0.";
const role = "role=web";

/** A load balancer on two servers with every kind of listener and target, whose owner writes whatever comes to mind. */
export class BalancerWorld {
  readonly #world: LoadBalancerWorld;
  readonly #key: SealingKeyPair;
  readonly #balancer: string;
  readonly #http: string;
  readonly #https: string;
  #check = { protocol: "http", path: "/up", host: "www.example.com", expected_codes: "200" };
  #count = 0;

  private constructor(parts: {
    world: LoadBalancerWorld;
    key: SealingKeyPair;
    balancer: string;
    listeners: readonly Schemas["Listener"][];
  }) {
    this.#world = parts.world;
    this.#key = parts.key;
    this.#balancer = parts.balancer;
    const idOf = (protocol: string) => parts.listeners.find((each) => each.protocol === protocol)?.id ?? "";
    this.#http = idOf("http");
    this.#https = idOf("https");
  }

  static async open(): Promise<BalancerWorld> {
    const world = await LoadBalancerWorld.open();
    try {
      const key = await reportSealingKey(world.servers.agent.api);
      await world.server({ labels: { role: "web" } });
      const upload = await madeUpload(["plain.example", "*.plain.example"]);
      const body = { name: "plain", type: "uploaded", region: world.servers.region, ...upload };
      const { certificate } = made(await world.owned.post("/certificates", body));
      const [http, https, tcp] = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
      const balancer = await world.active({
        ha: true,
        targets: [{ label_selector: role }],
        listeners: [
          { protocol: "http", port: http, target_port: 8080, sticky: { cookie_name: "SERVERID" } },
          { protocol: "https", port: https, target_port: 8080, certificate_ids: [certificate.id] },
          { protocol: "tcp", port: tcp, target_port: 9000, proxy_protocol: "v2" },
        ],
      });
      const { items } = made(await world.owned.get(`/load-balancers/${balancer.id}/listeners`));
      return new BalancerWorld({
        world,
        key,
        balancer: balancer.id,
        listeners: items,
      });
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  /** As the region's agent opens what was sealed to it. */
  readonly openSecret = (sealed: string, context: string): string =>
    openSecret(this.#key.privateKey, sealed, context);

  /** As its owner sees it now. */
  async shown(): Promise<Shown> {
    const { owned } = this.#world;
    const path = `/load-balancers/${this.#balancer}`;
    const listeners = made(await owned.get(`${path}/listeners`)).items as Schemas["Listener"][];
    const targets = made(await owned.get(`${path}/targets?limit=100`)).items as Schemas["Target"][];
    const health = await this.#world.health(this.#balancer);
    const selectors = new Set(
      targets.flatMap(({ id, label_selector }) => (label_selector === null ? [] : [id])),
    );
    const certificates = new Map<string, Schemas["Certificate"]>();
    for (const id of new Set(listeners.flatMap(({ certificate_ids }) => certificate_ids)))
      certificates.set(id, made(await owned.get(`/certificates/${id}`)));
    return {
      id: this.#balancer,
      listeners,
      certificates,
      targets: health.targets.map(({ target_id: id, server_id, address }) => ({
        id,
        server: selectors.has(id) ? server_id : null,
        address,
      })),
    };
  }

  /** Writes the text into every field, and brings to the region what was accepted. */
  async trial(text: string): Promise<Trial> {
    this.#count += 1;
    const accepted: string[] = [];
    const violations: string[] = [];
    let refused = 0;
    const isTaken = (field: string, { status, body }: Answer): boolean => {
      if (status < 300) {
        accepted.push(field);
        return true;
      }
      refused += 1;
      if (status !== 422 && !(status === 409 && body?.code === "name_taken"))
        violations.push(`${field} is answered ${status} ${body?.code}, not 422`);
      return false;
    };
    const { owned } = this.#world;
    const path = `/load-balancers/${this.#balancer}`;
    const http = `${path}/listeners/${this.#http}`;

    violations.push(...(await this.#named(text, isTaken)));
    for (const [field, change] of [
      ["load balancer's name", { name: text }],
      ["load balancer's description", { description: text }],
      ["load balancer's label", { labels: { note: text } }],
      ["load balancer's label key", { labels: { [text]: "x" } }],
      ["algorithm", { algorithm: text }],
    ] as const)
      isTaken(field, await owned.patch(path, change));
    for (const [field, change] of [
      ["listener's protocol", { protocol: text }],
      ["listener's PROXY protocol", { proxy_protocol: text }],
      ["listener's certificate", { certificate_ids: [text] }],
      ["check's protocol", { health_check: { ...this.#check, protocol: text } }],
      ["cookie", { sticky: { cookie_name: text } }],
      ["cookie", { sticky: { cookie_name: `C${text}` } }],
      ["clients", { allowed_cidrs: [text] }],
      ["clients", { allowed_cidrs: [`10.0.0.0/8${text}`] }],
    ] as const)
      isTaken(field, await owned.patch(http, change));
    for (const [field, change] of [
      ["check's path", { path: text }],
      ["check's path", { path: `/${text}` }],
      ["check's host", { host: text }],
      ["check's host", { host: `www.${text}` }],
      ["check's codes", { expected_codes: text }],
      ["check's codes", { expected_codes: `200${text}` }],
    ] as const) {
      const check = { ...this.#check, ...change };
      if (isTaken(field, await owned.patch(http, { health_check: check }))) this.#check = check;
    }
    for (const [field, body] of [
      ["target's address", { address: text }],
      ["target's address", { address: `${insideOf}${text}` }],
      ["target's address", { address: `198.51.100.7${text}` }],
      ["target's selector", { label_selector: text }],
      ["target's selector", { label_selector: `role=${text}` }],
      ["target's server", { server_id: text }],
    ] as const)
      isTaken(field, await owned.post(`${path}/targets`, body));
    await this.#certificates(text, isTaken);
    const payload = await this.#payload();
    return {
      accepted,
      refused,
      violations: violations.map((each) => `${JSON.stringify(text)}: ${each}`),
      payload,
    };
  }

  /** Takes away the targets that trials have added, which are as many as a load balancer may have before long. */
  async forgetTargets(): Promise<void> {
    const { owned } = this.#world;
    const path = `/load-balancers/${this.#balancer}/targets`;
    for (const { id, label_selector } of made(await owned.get(`${path}?limit=100`)).items)
      if (label_selector !== role) made(await owned.delete(`${path}/${id}`));
  }

  /** What the region is told once everything that waits is done. */
  async #payload(): Promise<Payload | null> {
    const payloads = await this.#world.settle();
    return payloads.findLast(({ listeners }) => listeners.some(({ id }) => id === this.#http)) ?? null;
  }

  async #certificates(text: string, isTaken: (field: string, answer: Answer) => boolean): Promise<void> {
    const { owned, servers } = this.#world;
    const { region } = servers;
    const managed = { type: "managed", region, challenge: "http" };
    for (const [field, body] of [
      ["managed certificate's name in the DNS", { name: `dns-${this.#count}`, domain_names: [text] }],
      ["managed certificate's name in the DNS", { name: `dns-${this.#count}`, domain_names: [`a.${text}`] }],
    ] as const) {
      const answer = await owned.post("/certificates", { ...managed, ...body });
      if (!isTaken(field, answer)) continue;
      await this.#world.settle();
      made(await owned.delete(`/certificates/${answer.body.certificate.id}`));
    }
    const plain = { ...(await madeUpload(["named.example"])), type: "uploaded", region };
    for (const [field, body] of [
      ["certificate's name", { name: text }],
      ["certificate's label", { name: `named-${this.#count}`, labels: { note: text } }],
    ] as const) {
      const answer = await owned.post("/certificates", { ...plain, ...body });
      if (isTaken(field, answer)) made(await owned.delete(`/certificates/${answer.body.certificate.id}`));
    }
    for (const name of [text, `a.${text}`, `${text}.example`]) {
      // A certificate has ASCII only; whoever signs it writes what he likes of that.
      const upload = await madeUpload(["first.example", name]).catch(() => null);
      if (upload === null) continue;
      const body = { name: `upload-${this.#count}`, type: "uploaded", region, ...upload };
      const answer = await owned.post("/certificates", body);
      if (!isTaken("name in a certificate", answer)) continue;
      const https = `/load-balancers/${this.#balancer}/listeners/${this.#https}`;
      const before = made(await owned.get(https)).certificate_ids as string[];
      made(await owned.patch(https, { certificate_ids: [answer.body.certificate.id] }));
      for (const id of before) made(await owned.delete(`/certificates/${id}`));
    }
  }

  /** A load balancer of that name: its servers' guests are named after it. */
  async #named(text: string, isTaken: (field: string, answer: Answer) => boolean): Promise<string[]> {
    const { owned, subnet, servers } = this.#world;
    const answer = await owned.post("/load-balancers", { name: text, subnet_id: subnet });
    if (!isTaken("new load balancer's name", answer)) return [];
    const done = (await servers.agent.work()) as readonly { readonly payload: Schemas["JobPayload"] }[];
    const found = done.flatMap(({ payload }) => {
      if (payload.kind !== "ServerCreate") return [];
      const { name } = payload.server;
      return differences("hostname", `hostname: ${name}\n`, { hostname: name });
    });
    made(await owned.delete(`/load-balancers/${answer.body.load_balancer.id}`));
    await servers.agent.work();
    return found;
  }
}
