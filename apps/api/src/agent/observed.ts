import type { Schemas } from "@kule/contract/schemas";

type Told = NonNullable<Schemas["JobOutcome"]["observed"]>;

/** What a job's outcome says of its resource, as it is kept: these fields and no others. */
export type Observed = Pick<
  Told,
  "power_state" | "node" | "disk_bytes" | "public_network" | "filter" | "network_generation" | "vmid_unusable"
> & {
  readonly macs?: readonly (string | null)[];
};

const maxInterfaces = 32;
const mac = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

/**
 * A region may say more than the contract knows of; what nothing reads is not kept, so that a job's row does not grow by
 * what a region says.
 */
export function keptOfObserved(told: Told): Observed {
  const { power_state, node, disk_bytes, public_network, filter, network_generation, vmid_unusable } = told;
  const { macs: toldMacs } = told;
  const macs = macsOf(toldMacs);
  return {
    ...(power_state === undefined ? {} : { power_state }),
    ...(node === undefined ? {} : { node }),
    ...(disk_bytes === undefined ? {} : { disk_bytes }),
    ...(public_network === undefined ? {} : { public_network }),
    ...(filter === undefined ? {} : { filter }),
    ...(network_generation === undefined ? {} : { network_generation }),
    ...(vmid_unusable === undefined ? {} : { vmid_unusable }),
    ...(macs === undefined ? {} : { macs }),
  };
}

/** By position: what is no MAC is none, and of more interfaces than a VM can have none is believed. */
function macsOf(told: unknown): readonly (string | null)[] | undefined {
  if (!Array.isArray(told) || told.length > maxInterfaces) return undefined;
  return told.map((each: unknown) =>
    typeof each === "string" && mac.test(each) ? each.toLowerCase() : null,
  );
}
