import type { Schemas } from "@kule/contract/schemas";

type ReportedState = NonNullable<Schemas["JobOutcome"]["observed"]>;

type ReportedLoadBalancer = NonNullable<ReportedState["load_balancer"]>;
type ReportedZone = NonNullable<ReportedState["domain"]>;

/** What a job's outcome reports of its resource, as it is stored: these fields and no others. */
export type Observed = Pick<
  ReportedState,
  | "power_state"
  | "node"
  | "disk_bytes"
  | "public_network"
  | "filter"
  | "network_generation"
  | "domain"
  | "load_balancer"
  | "vmid_unusable"
> & {
  readonly macs?: readonly (string | null)[];
};

const maxInterfaces = 32;
const mac = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

/**
 * A region may report more than the contract defines; fields that nothing reads are dropped, so that a region
 * cannot make a job's row grow.
 */
export function storedObservation(told: ReportedState): Observed {
  const {
    power_state,
    node,
    disk_bytes,
    public_network,
    filter,
    network_generation,
    domain,
    load_balancer,
    vmid_unusable,
  } = told;
  const { macs: toldMacs } = told;
  const macs = macsOf(toldMacs);
  return {
    ...(power_state === undefined ? {} : { power_state }),
    ...(node === undefined ? {} : { node }),
    ...(disk_bytes === undefined ? {} : { disk_bytes }),
    ...(public_network === undefined ? {} : { public_network }),
    ...(filter === undefined ? {} : { filter }),
    ...(network_generation === undefined ? {} : { network_generation }),
    ...(domain === undefined ? {} : { domain: storedZone(domain) }),
    ...(load_balancer === undefined ? {} : { load_balancer: storedMachines(load_balancer) }),
    ...(vmid_unusable === undefined ? {} : { vmid_unusable }),
    ...(macs === undefined ? {} : { macs }),
  };
}

/** Its fields and no others: the contract lets an object of an agent have more. */
function storedZone({ generation, serial, ds }: ReportedZone): ReportedZone {
  return { generation, serial, ds };
}

function storedMachines({ generation, machines }: ReportedLoadBalancer): ReportedLoadBalancer {
  return {
    generation,
    machines: machines.map((each) => ({
      slot: each.slot,
      outcome: each.outcome,
      generation: each.generation,
      role: each.role,
    })),
  };
}

/** By position: what is no MAC is none, and of more interfaces than a VM can have none is believed. */
function macsOf(told: unknown): readonly (string | null)[] | undefined {
  if (!Array.isArray(told) || told.length > maxInterfaces) return undefined;
  return told.map((each: unknown) =>
    typeof each === "string" && mac.test(each) ? each.toLowerCase() : null,
  );
}
