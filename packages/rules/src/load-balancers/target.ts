import { inField, type Problem, shown } from "../domains/problem.ts";
import { parseLabelSelector } from "../labels/selector.ts";
import { addressOf, contains, rangeOf } from "../networks/address-text.ts";
import { isPublicAddress } from "../networks/special-blocks.ts";
import { parseIp } from "../public-ips/addresses.ts";
import { maxWeight } from "./limits.ts";
import { type NumberRule, numberProblems } from "./numbers.ts";

export type TargetRule =
  | NumberRule
  | "target_kind"
  | "target_address"
  | "target_address_own"
  | "target_address_elsewhere"
  | "label_selector";

/** Exactly one of the first three is not null. */
export type TargetRequest = {
  readonly serverId: string | null;
  readonly labelSelector: string | null;
  readonly address: string | null;
  readonly weight: number;
  readonly backup: boolean;
  readonly drain: boolean;
};

/** The network that a load balancer is in. */
export type TargetNetwork = {
  /** Blocks of its subnets, such as `10.0.1.0/24`. */
  readonly cidrs: readonly string[];
  /** Addresses of the load balancer itself: traffic to them would come back to it for ever. */
  readonly ownAddresses: readonly string[];
};

/**
 * What is wrong with a target for itself. Whether its server is there is the caller's question.
 *
 * @param at JSON pointer of the target in what was sent: empty, or such as `/targets/2`
 */
export function targetProblems(
  target: TargetRequest,
  network: TargetNetwork,
  at = "",
): Problem<TargetRule>[] {
  return [
    ...kindProblems(target, at),
    ...(target.labelSelector === null ? [] : selectorProblems(target.labelSelector, at)),
    ...(target.address === null ? [] : addressProblems(target.address, network, at)),
    ...numberProblems(target.weight, { min: 0, max: maxWeight }, `${at}/weight`),
  ];
}

const kinds = [
  ["serverId", "server_id"],
  ["labelSelector", "label_selector"],
  ["address", "address"],
] as const;

function kindProblems(target: TargetRequest, at: string): Problem<TargetRule>[] {
  const given = kinds.filter(([name]) => target[name] !== null).map(([, field]) => field);
  if (given.length === 1) return [];
  const [first = "server_id", ...more] = given;
  const fields = more.length > 0 ? more : [first];
  const message =
    more.length > 0
      ? `A target is one thing, and there is a ${first} too`
      : "The target says neither a server, nor a label selector, nor an address";
  return fields.map((field) =>
    inField(`${at}/${field}`, {
      rule: "target_kind",
      message,
      fix: "Enter exactly one of server_id, label_selector and address",
    }),
  );
}

function selectorProblems(text: string, at: string): Problem<TargetRule>[] {
  const wrong = (message: string) => [
    inField<TargetRule>(`${at}/label_selector`, {
      rule: "label_selector",
      message,
      fix: "Enter a selector such as role=web,tier!=test",
    }),
  ];
  const selector = parseLabelSelector(text);
  if (!selector.ok) return wrong(`The label selector cannot be read: ${selector.message}`);
  // It would be every server of the network, also those that someone creates for something else.
  return selector.terms.length === 0 ? wrong("The label selector is empty") : [];
}

function addressProblems(text: string, network: TargetNetwork, at: string): Problem<TargetRule>[] {
  const problem = (rule: TargetRule, message: string, fix: string) => [
    inField(`${at}/address`, { rule, message, fix }),
  ];
  const address = parseIp(text);
  if (address === null || address.version !== 4)
    return problem(
      "target_address",
      `${shown(text)} is no IPv4 address`,
      "Enter an address such as 10.0.1.12, without a port",
    );
  if (network.ownAddresses.some((own) => addressOf(own).value === address.value))
    return problem(
      "target_address_own",
      `${text} is the load balancer's own address, so traffic would come back to it`,
      "Enter the address of a target",
    );
  const isInside = network.cidrs.some((cidr) => contains(rangeOf(cidr), address));
  if (isInside || isPublicAddress(address)) return [];
  return problem(
    "target_address_elsewhere",
    `${text} is neither in the load balancer's network nor public`,
    "Enter an address of the network's subnets, or a public one",
  );
}
