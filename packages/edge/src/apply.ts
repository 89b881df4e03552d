import { type EdgeLink, isPinned, type LinkParent, parentName } from "./desired-links.ts";
import { generationChain, namespaceOf, tableName } from "./names.ts";
import type { EdgeStep } from "./plan.ts";
import type { NftObject } from "./render-ruleset.ts";
import { type Command, type CommandHooks, carryOut, type Runner } from "./runner.ts";

/**
 * nft opens its input again, which works for a pipe and not for the socket that a parent may have given us.
 */
export const nftFromInput = "cat | nft -j -f -";

export type StepContext = {
  readonly networkId: string;
  readonly rules: readonly NftObject[];
};

/**
 * Applies one step; safe to repeat after a new observation, however much of it was done.
 * @throws EdgeCommandFailed
 */
export async function applyStep(
  runner: Runner,
  step: EdgeStep,
  context: StepContext,
  hooks: CommandHooks = {},
): Promise<void> {
  for (const command of commandsOf(step, context)) await carryOut(runner, command, hooks);
}

/** The commands of a step, in their order. */
export function commandsOf(step: EdgeStep, { networkId, rules }: StepContext): readonly Command[] {
  const namespace = namespaceOf(networkId);
  const inside = (...lines: string[]): Command => ({
    words: ["ip", "-n", namespace, "-batch", "-"],
    input: `${lines.join("\n")}\n`,
  });
  switch (step.do) {
    case "make-namespace":
      return [{ words: ["ip", "netns", "add", namespace] }];
    case "replace-rules":
      return [
        {
          words: ["ip", "netns", "exec", namespace, "sh", "-c", nftFromInput],
          input: JSON.stringify({ nftables: replacement(step, rules) }),
        },
      ];
    case "remove-link":
      return [inside(`link del dev ${step.name}`)];
    case "set":
      return [
        {
          words: [
            "ip",
            "netns",
            "exec",
            namespace,
            "sysctl",
            "-q",
            "-w",
            ...Object.entries(step.settings).map(([name, value]) => `${name}=${value}`),
          ],
        },
      ];
    case "add-link":
      return addLink(step.link, namespace);
    case "make-parent":
      return makeParent(step.on);
    case "raise-parent":
      return [raised(parentName(step.on))];
    case "plug":
      return plug(step.link);
    case "bring-up":
      return [
        inside(
          ...step.staleAddresses.map((address) => `addr del ${address} dev ${step.link.name}`),
          `addr replace ${step.link.address} dev ${step.link.name}`,
          `link set dev ${step.link.name} up`,
        ),
      ];
    case "route":
      return [inside(`route replace default via ${step.via} dev ${step.device} onlink`)];
    case "unroute":
      return [inside(`route del ${step.to} dev ${step.device}`)];
  }
}

/**
 * One transaction of the kernel. It begins by deleting the chain that only the observed state has, so it
 * fails as a whole when another writer has changed the state since.
 */
function replacement(
  { seenGeneration, hasTable }: Extract<EdgeStep, { do: "replace-rules" }>,
  rules: readonly NftObject[],
): NftObject[] {
  const table = { family: "inet", name: tableName };
  const [, ...inTable] = rules.map((object) => ({ add: object }));
  return [
    ...(seenGeneration === null
      ? []
      : [{ delete: { chain: { family: "inet", table: tableName, name: generationChain(seenGeneration) } } }]),
    ...(hasTable ? [{ flush: { ruleset: null } }] : []),
    { create: { table } },
    ...inTable,
  ];
}

function addLink({ name, on, mac }: EdgeLink, namespace: string): Command[] {
  const add = (...words: string[]): Command => ({ words: ["ip", "link", "add", ...words] });
  const common = ["name", name, "address", mac, "netns", namespace];
  switch (on.kind) {
    case "vlan":
      return [add("link", on.interface, ...common, "type", "vlan", "id", String(on.vlan))];
    case "veth":
      return [add("name", on.port, "type", "veth", "peer", ...common)];
    case "macvlan":
      return [add("link", parentName(on), ...common, "type", "macvlan", "mode", "bridge")];
  }
}

function plug(link: EdgeLink): Command[] {
  const { on, mac } = link;
  if (on.kind !== "veth") return [];
  const plugged: Command = { words: ["ip", "link", "set", "dev", on.port, "master", on.bridge, "up"] };
  if (!isPinned(link)) return [plugged];
  return [plugged, { words: ["bridge", "fdb", "replace", mac, "dev", on.port, "master", "static"] }];
}

const raised = (name: string): Command => ({ words: ["ip", "link", "set", "dev", name, "up"] });

/** Created once, used by every network with a link on it, and kept when they are deleted. */
function makeParent(on: LinkParent): Command[] {
  const name = parentName(on);
  const kind =
    on.kind === "veth"
      ? ["name", name, "type", "bridge"]
      : ["link", on.interface, "name", name, "type", "vlan", "id", String(on.vlan)];
  return [{ words: ["ip", "link", "add", ...kind] }, raised(name)];
}
