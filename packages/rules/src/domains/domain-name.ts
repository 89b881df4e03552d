import { parseIp, parseIpBlock } from "../public-ips/addresses.ts";
import { characters, type LabelRule, lengthFlaw, maxNameLength, nameFlaw, toAscii } from "./name-labels.ts";
import { type Flaw, inField, type Problem, shown } from "./problem.ts";

export type DomainNameRule =
  | LabelRule
  | "empty_name"
  | "wildcard"
  | "address"
  | "single_label"
  | "numeric_last_label"
  | "reverse_zone";

export type DomainNameReading =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly problem: Problem<DomainNameRule> };

/** The label of the record that proves a domain; see `verificationRecord`. */
export const verificationLabel = "_kule-verification";

/** A longer domain would have no room for the name of the record that proves it. */
export const maxDomainNameLength = maxNameLength - verificationLabel.length - 1;

/**
 * Reads what a user enters as a domain: `Example.COM.` is `example.com`, `münchen.example` is
 * `xn--mnchen-3ya.example`.
 *
 * @param mayBeReverse operators may have the zones of their addresses, such as `2.0.192.in-addr.arpa`
 * @returns the canonical name: lower case, ASCII, no final dot. Or the first problem, in the field `name`.
 */
export function readDomainName(
  text: string,
  { mayBeReverse }: { readonly mayBeReverse: boolean },
): DomainNameReading {
  const typed = text.trim();
  const ascii = toAscii(typed);
  const name = ascii?.endsWith(".") ? ascii.slice(0, -1) : ascii;
  const flaw =
    foreignFlaw(typed) ??
    (name === null
      ? characters(typed, "domain")
      : (lengthFlaw(name.length, maxDomainNameLength) ?? nameFlaw(name, "domain"))) ??
    placeFlaw(name ?? "", mayBeReverse);
  if (flaw !== null) return { ok: false, problem: inField("name", flaw) };
  return { ok: true, name: name ?? "" };
}

/** Texts that are something else than a name, told by what they are. */
function foreignFlaw(typed: string): Flaw<DomainNameRule> | null {
  const example = "Enter a name such as example.com";
  if (typed === "" || typed === ".")
    return { rule: "empty_name", message: "The name of the domain is missing", fix: example };
  if (isAddress(typed))
    return { rule: "address", message: `${shown(typed)} is an address, not a domain`, fix: example };
  if (typed.startsWith("*."))
    return {
      rule: "wildcard",
      message: "A wildcard is a record of a domain, not a domain",
      fix: `Create the domain ${typed.slice(2, 2 + maxNameLength)} and a record with the name *`,
    };
  const host = /^[a-z]+:\/\/([^/?#]{1,253})/i.exec(typed)?.[1];
  if (host !== undefined)
    return {
      rule: "characters",
      message: "A domain is given without https:// and path",
      fix: `Enter ${host}`,
    };
  return null;
}

/** In brackets, with a prefix length, or with too few or too large numbers, it is meant as an address too. */
function isAddress(typed: string): boolean {
  const bare = typed.replace(/^\[(.*)\]$/, "$1");
  return parseIp(bare) !== null || parseIpBlock(bare) !== null || /^\d+(\.\d+)+\.?$/.test(bare);
}

function placeFlaw(name: string, mayBeReverse: boolean): Flaw<DomainNameRule> | null {
  const labels = name.split(".");
  if (labels.length < 2)
    return {
      rule: "single_label",
      message: `${shown(name)} is a top-level domain or the name of a machine`,
      fix: `Enter the whole name, such as ${name}.example.com`,
    };
  if (/^\d+$/.test(labels.at(-1) ?? ""))
    return {
      rule: "numeric_last_label",
      message: `${shown(name)} ends with a number, as no domain does`,
      fix: "Enter a name such as example.com",
    };
  if (isReverseName(name) && !mayBeReverse)
    return {
      rule: "reverse_zone",
      message: `${shown(name)} is a reverse zone, which only operators have`,
      fix: "Set the reverse name (PTR) at the public IP",
    };
  return null;
}

/** True for the names in which addresses are looked up: `in-addr.arpa`, `ip6.arpa`, and all inside of them. */
export function isReverseName(name: string): boolean {
  return isInside(name, "in-addr.arpa") || isInside(name, "ip6.arpa");
}

/** All parents of a canonical name from the nearest, without the last single label. */
export function parentNames(name: string): string[] {
  const labels = name.split(".");
  return labels.slice(1, -1).map((_, index) => labels.slice(index + 1).join("."));
}

/** True if the canonical name is the zone's or lies in the zone. */
export function isInside(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
