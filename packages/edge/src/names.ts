import type { EdgeWiring } from "./edge-network.ts";

const networkId = /^net_[0-9a-z]{1,60}$/;

/** The link towards the internet, inside a network's namespace. */
export const uplinkName = "up";

/** The table of all of a network's rules. */
export const tableName = "kule";

const namespacePrefix = "kule-";

/** @throws RangeError for what is not an id: names never come from users */
export function namespaceOf(id: string): string {
  if (!networkId.test(id)) throw new RangeError(`${JSON.stringify(id)} is no network's id`);
  return `${namespacePrefix}${id}`;
}

/** The network of a namespace; null when it is not one of ours. */
export function networkOfNamespace(name: string): string | null {
  const id = name.slice(namespacePrefix.length);
  return name.startsWith(namespacePrefix) && networkId.test(id) ? id : null;
}

/** A subnet's link inside the namespace. Its VLAN is its own in the whole region. */
export const subnetLinkName = (vlan: number): string => `s${vlan}`;

/** The other end of it, where a bridge carries the VLAN. */
export const bridgePortName = ({ trunk }: EdgeWiring, vlan: number): string => `${trunk.interface}p${vlan}`;

/** The bridge of a VLAN, in trunk mode `bridge`. */
export const bridgeName = ({ trunk }: EdgeWiring, vlan: number): string => `${trunk.interface}v${vlan}`;

/** A chain that only the live ruleset of this generation has. */
export const generationChain = (generation: number): string => `generation_${generation}`;

/** The generation of a chain's name; null when the chain is for something else. */
export function generationOfChain(name: string): number | null {
  const digits = /^generation_(\d{1,15})$/.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}
