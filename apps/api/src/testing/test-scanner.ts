import { randomUUID } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import { digestOfFilter, type PayloadFilter } from "../products/inventory/index.ts";
import type { ApiCaller } from "./api-caller.ts";
import type { ClaimedJob } from "./test-agent.ts";

export type SeenVm = Schemas["InventoryVm"];
type Ack = Schemas["InventoryAck"];

/** An agent's scans of its region, with any inspector that a test provides. */
export class TestScanner {
  readonly #api: ApiCaller;
  readonly #run: string;

  constructor(api: ApiCaller, run: string = randomUUID()) {
    this.#api = api;
    this.#run = run;
  }

  async #send(more: object): Promise<Ack> {
    const answer = await this.#api.post("/agent/inventory", {
      agent_version: "0.1.0",
      agent_run: this.#run,
      every_seconds: 30,
      private_bridge: "vmbr1",
      pool_prefix: "kule",
      public_network: { bridge: "vmbr0", vlan: 10 },
      ...more,
    });
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Ack;
  }

  begin(): Promise<Ack> {
    return this.#send({});
  }

  batch(pass: number, batch: number, more: object): Promise<Ack> {
    return this.#send({ pass, batch, ...more });
  }

  /** A complete scan in one batch: everything that exists, and the queried numbers that do not. */
  async look(vms: readonly SeenVm[], end: object = {}): Promise<Ack> {
    const begun = await this.begin();
    if (begun.pass === null) throw new Error("another agent looks");
    const absent = begun.look_for
      .filter((vmid) => !vms.some((vm) => vm.vmid === vmid))
      .map((vmid) => ({ vmid, seen_after_ms: 0 }));
    await this.batch(begun.pass, 0, { vms, absent, end: { complete: true, ...end } });
    return begun;
  }
}

/** The VM of a create job, as a scan reports it. */
export function seenAs(job: ClaimedJob, more: Partial<SeenVm> = {}): SeenVm {
  const { payload } = job;
  if (payload.kind !== "ServerCreate") throw new Error(`${payload.kind} makes no VM`);
  const outside = payload.public_interface ?? null;
  return {
    vmid: payload.vmid,
    node: "pve1",
    type: "qemu",
    state: "seen",
    seen_after_ms: 0,
    power: payload.start ? "on" : "off",
    name: payload.server.name,
    template: false,
    marker: {
      server_id: payload.server.id,
      organisation_id: payload.server.organisation_id,
      region: "ist1",
    },
    tags: payload.tags,
    pool: payload.pool,
    lock: null,
    vcpu: payload.package.vcpu,
    memory_mb: payload.package.memory_mb,
    disk_bytes: payload.package.disk_gb * 2 ** 30,
    interfaces: [
      ...payload.interfaces.map(({ mac, vlan }) => ({ mac, vlan, bridge: "vmbr1" })),
      ...(outside === null ? [] : [{ mac: outside.mac, vlan: outside.vlan ?? 10, bridge: "vmbr0" }]),
    ].map(({ mac, ...rest }, position) => ({ position, mac: mac.toUpperCase(), firewall: true, ...rest })),
    firewall: {
      enable: true,
      macfilter: true,
      ipfilter: true,
      ...seenFilterOf(payload),
      ipsets: [
        ...payload.interfaces.map(({ address, additional_addresses = [] }) => [
          address,
          ...additional_addresses,
        ]),
        ...(outside === null
          ? []
          : [[...outside.addresses.map(({ address }) => address), ...(outside.additional_addresses ?? [])]]),
      ].map((addresses, position) => ({ name: `ipfilter-net${position}`, addresses })),
    },
    guest: { agent: true, cloud_init: "done", os: "Debian GNU/Linux 13", hostname: "h", addresses: [] },
    ...more,
  };
}

/** What the region reports of the filter in a job's payload. */
export function seenFilterOf(payload: {
  readonly filter?: PayloadFilter;
  readonly interfaces: readonly unknown[];
}) {
  const filter = payload.filter ?? { id: "none", is_filtered: false, rules: [] };
  const { rules, digest } = digestOfFilter(filter, payload.interfaces.length);
  return {
    policy_in: "DROP",
    policy_out: "ACCEPT",
    rules,
    rules_digest: digest,
  } as const;
}
