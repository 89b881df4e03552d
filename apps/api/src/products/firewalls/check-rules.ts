import type { FieldError } from "@kule/contract/field-errors";
import { maxPortNumbers, parsePorts, portNumbers } from "@kule/rules/firewalls/ports";
import { parseLabelSelector } from "@kule/rules/labels/selector";
import { parseIpBlock } from "@kule/rules/public-ips/addresses";
import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";
import { fieldError } from "../../platform/errors.ts";
import { type IdPrefix, isId } from "../../platform/ids.ts";
import type { RuleInput } from "./rule-store.ts";
import type { StoredPeer } from "./store.ts";

type Place = { readonly db: Database; readonly organisationId: string; readonly region: string };

/**
 * What is wrong with rules: texts without a meaning, and peers that are not the organisation's in the
 * firewall's region. Another organisation's peer reads like an absent one.
 *
 * @param at of each rule, as a JSON pointer
 */
export async function ruleErrors(
  place: Place,
  rules: readonly { readonly at: string; readonly rule: Partial<RuleInput> }[],
): Promise<FieldError[]> {
  const errors = rules.flatMap(({ at, rule }) => ruleTextErrors(at, rule));
  return [...errors, ...(await referenceErrors(place, rules))];
}

/** What is wrong with a rule regardless of its peers. */
export const ruleTextErrors = (at: string, rule: Partial<RuleInput>): FieldError[] => [
  ...portErrors(at, rule),
  ...peerTextErrors(at, rule),
];

function portErrors(at: string, { protocol, ports = [] }: Partial<RuleInput>): FieldError[] {
  if (ports.length > 0 && protocol !== undefined && protocol !== "tcp" && protocol !== "udp")
    return [fieldError(`${at}/ports`, "conflicts_with", `${protocol} has no ports`)];
  const ranges = ports.flatMap((text) => parsePorts(text) ?? []);
  if (ranges.length === ports.length && portNumbers(ranges) > maxPortNumbers)
    return [
      fieldError(
        `${at}/ports`,
        "too_long",
        `must hold at most ${maxPortNumbers} numbers, and a range counts as two: write another rule for the others`,
      ),
    ];
  return ports.flatMap((text, index) =>
    parsePorts(text) === null
      ? [
          fieldError(
            `${at}/ports/${index}`,
            "invalid_format",
            "is neither a port from 1 to 65535 nor a range of them such as 8000-8100",
          ),
        ]
      : [],
  );
}

function peerTextErrors(at: string, { peers = [], protocol }: Partial<RuleInput>): FieldError[] {
  return (peers as StoredPeer[]).flatMap((peer, index) => {
    const place = `${at}/peers/${index}`;
    if ("cidr" in peer) {
      const block = parseIpBlock(peer.cidr);
      if (block === null)
        return [
          fieldError(
            `${place}/cidr`,
            "invalid_format",
            "is not a block such as 192.0.2.0/24 or 2001:db8::/32",
          ),
        ];
      const other = { icmp: 6, icmpv6: 4 }[protocol as string];
      return block.version === other
        ? [fieldError(`${place}/cidr`, "conflicts_with", `${protocol} is of the other IP version`)]
        : [];
    }
    return "label_selector" in peer ? selectorErrors(`${place}/label_selector`, peer.label_selector) : [];
  });
}

/** What is wrong with a selector for servers; one without a term would select all of them. */
export function selectorErrors(at: string, text: string): FieldError[] {
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) return [fieldError(at, "invalid_format", parsed.message)];
  return parsed.terms.length === 0 ? [fieldError(at, "invalid_format", "names no label")] : [];
}

const kinds = [
  { property: "subnet_id", table: "subnet", prefix: "sub", what: "subnet" },
  { property: "network_id", table: "network", prefix: "net", what: "network" },
  { property: "firewall_id", table: "firewall", prefix: "fw", what: "firewall" },
] as const satisfies readonly { prefix: IdPrefix; [key: string]: string }[];

async function referenceErrors(
  { db, organisationId, region }: Place,
  rules: readonly { readonly at: string; readonly rule: Partial<RuleInput> }[],
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const { property, table, prefix, what } of kinds) {
    const named = rules.flatMap(({ at, rule }) =>
      (rule.peers ?? []).flatMap((peer, index) => {
        const id = peer[property];
        return id === undefined ? [] : [{ id, place: `${at}/peers/${index}/${property}` }];
      }),
    );
    const ids = named.flatMap(({ id }) => (isId(prefix, id) ? [id] : []));
    const rows =
      ids.length === 0
        ? []
        : await db
            .selectFrom(table)
            .select("id")
            .where("organisation_id", "=", organisationId)
            .where("region", "=", region)
            .where("id", "in", ids)
            .$if(table !== "firewall", (rows) => rows.where(sql<string>`status`, "<>", "deleting"))
            .execute();
    for (const { id, place } of named)
      if (!rows.some((row) => row.id === id))
        errors.push(fieldError(place, "not_found", `no such ${what} in the firewall's region`));
  }
  return errors;
}
