import type { IpAddress, IpVersion } from "../public-ips/addresses.ts";
import { characters, type LabelRule, maxNameLength, nameFlaw, toAscii } from "./name-labels.ts";
import { type Flaw, flawed, type Reading, readAs, shown } from "./problem.ts";

export type ReversePatternRule = LabelRule | "star" | "numeric_last_label";

const example = "*.static.example.net";

/**
 * Reads the pattern of a pool's reverse names, such as `*.static.example.net`: the star stands for the address.
 *
 * @param version of the pool: every address of it must have a name that is not too long
 * @returns the pattern in lower case and ASCII, without a final dot
 */
export function readReversePattern(text: string, version: IpVersion): Reading<string, ReversePatternRule> {
  const typed = text.trim();
  if (!typed.startsWith("*.") || typed.lastIndexOf("*") > 0)
    return flawed(
      "star",
      `${shown(typed)} does not have exactly one star, as its whole first part`,
      `Enter a name such as ${example}; the star stands for the address`,
    );
  const rest = typed.slice(2);
  const parent = toAscii(rest.endsWith(".") ? rest.slice(0, -1) : rest);
  const flaw: Flaw<ReversePatternRule> | null =
    parent === null
      ? characters(rest, "host")
      : (lengthFlaw(parent, version) ?? nameFlaw(parent, "host") ?? lastLabelFlaw(parent));
  return flaw === null ? readAs(`*.${parent}`) : { ok: false, flaw };
}

/** The name of an address by a pattern. The same as the database's `kule_reverse_name`. */
export function reverseNameOf(pattern: string, address: IpAddress): string {
  return `${addressLabel(address)}${pattern.slice(1)}`;
}

/**
 * `203-0-113-7`, or the eight groups of an IPv6 address as RFC 5952 writes them. Without `::`, so that no label begins or
 * ends with a hyphen and each address has one.
 */
function addressLabel({ version, value }: IpAddress): string {
  const { parts, bits, radix } = version === 4 ? forms.four : forms.six;
  return Array.from({ length: parts }, (_, index) =>
    ((value >> BigInt(bits * (parts - 1 - index))) & ((1n << BigInt(bits)) - 1n)).toString(radix),
  ).join("-");
}

const forms = { four: { parts: 4, bits: 8, radix: 10 }, six: { parts: 8, bits: 16, radix: 16 } } as const;

function lengthFlaw(parent: string, version: IpVersion): Flaw<"name_too_long"> | null {
  const longest = addressLabel({ version, value: (1n << (version === 4 ? 32n : 128n)) - 1n }).length;
  const length = longest + 1 + parent.length;
  if (length <= maxNameLength) return null;
  return {
    rule: "name_too_long",
    message: `With the longest address in the place of the star the name has ${length} characters; it can have at most ${maxNameLength}`,
    fix: `Enter at most ${maxNameLength - longest - 1} characters behind the star and its dot`,
  };
}

function lastLabelFlaw(parent: string): Flaw<"numeric_last_label"> | null {
  if (!/(^|\.)\d+$/.test(parent)) return null;
  return {
    rule: "numeric_last_label",
    message: `${shown(parent)} ends with a number, as no name does`,
    fix: `Enter a name such as ${example}`,
  };
}
