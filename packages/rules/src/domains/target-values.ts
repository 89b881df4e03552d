import { parseIp } from "../public-ips/addresses.ts";
import { characters, type LabelRule, nameFlaw, toAscii } from "./name-labels.ts";
import { flawed, type Reading, readAs, shown } from "./problem.ts";
import { type FieldsRule, fieldsOf, readNumber } from "./value-fields.ts";

export type TargetRule =
  | LabelRule
  | FieldsRule
  | "target_missing"
  | "target_address"
  | "target_relative"
  | "target_numeric"
  | "target_root";

/** `host` has no underscores; the targets of CNAME and PTR may have them. */
type TargetKind = "host" | "record";

const maxUint16 = 65_535;

/** A value of CNAME or PTR. @param zone the domain, for the fix of a target that is not absolute */
export const readNameValue = (text: string, zone: string) => readTarget(text.trim(), zone, "record");

/** A value of NS. */
export const readHostValue = (text: string, zone: string) => readTarget(text.trim(), zone, "host");

/** A value of MX: `10 mail.example.com.`, or `0 .` for a domain that takes no mail (RFC 7505). */
export function readMxValue(text: string, zone: string): Reading<string, TargetRule> {
  const [preference = "", target, ...more] = fieldsOf(text);
  if (target === undefined || more.length > 0)
    return flawed(
      "value_fields",
      `${shown(text)} is not a preference and a mail server`,
      `Enter both, such as 10 mail.${zone}.`,
    );
  const number = readNumber(preference, "preference", maxUint16);
  if (!number.ok) return number;
  if (target === "." && number.value === 0) return readAs("0 .");
  const name =
    target === "." ? flawedRoot("Enter 0 . for a domain that takes no mail") : readHost(target, zone);
  return name.ok ? readAs(`${number.value} ${name.value}`) : name;
}

/** A value of SRV: `10 5 5060 sip.example.com.`; the target `.` says that there is no such service. */
export function readSrvValue(text: string, zone: string): Reading<string, TargetRule> {
  const [priority = "", weight = "", port = "", target, ...more] = fieldsOf(text);
  if (target === undefined || more.length > 0)
    return flawed(
      "value_fields",
      `${shown(text)} is not priority, weight, port and target`,
      `Enter all four, such as 10 5 5060 sip.${zone}.`,
    );
  const numbers: number[] = [];
  for (const [part, what] of [
    [priority, "priority"],
    [weight, "weight"],
    [port, "port"],
  ] as const) {
    const number = readNumber(part, what, maxUint16);
    if (!number.ok) return number;
    numbers.push(number.value);
  }
  const name = target === "." ? readAs(".") : readHost(target, zone);
  return name.ok ? readAs(`${numbers.join(" ")} ${name.value}`) : name;
}

const readHost = (target: string, zone: string) => readTarget(target, zone, "host");

const flawedRoot = (fix: string) => flawed("target_root", "The target is the root of all names", fix);

/**
 * Reads the name that a record points to. It is absolute with or without its final dot: a target of one label
 * is refused, because it is either relative, which targets of the API are not, or a mistake.
 */
function readTarget(text: string, zone: string, kind: TargetKind): Reading<string, TargetRule> {
  const example = `Enter a name such as www.${zone}.`;
  if (text === "") return flawed("target_missing", "The target is missing", example);
  if (text === ".") return flawedRoot(example);
  if (text === "@")
    return flawed("target_relative", "@ stands for the domain in names, not in targets", `Enter ${zone}.`);
  const ascii = toAscii(text);
  if (ascii === null) return { ok: false, flaw: characters(text, kind) };
  const name = ascii.endsWith(".") ? ascii.slice(0, -1) : ascii;
  if (parseIp(name) !== null)
    return flawed(
      "target_address",
      `${shown(text)} is an address; a target is a name`,
      "Enter the name of a record set of type A or AAAA that has the address",
    );
  const flaw = nameFlaw(name, kind);
  if (flaw !== null) return { ok: false, flaw };
  if (!name.includes("."))
    return flawed(
      "target_relative",
      `The target ${shown(text)} is not a whole name`,
      `Enter ${name}.${zone}.`,
    );
  if (/\.\d+$/.test(name))
    return flawed("target_numeric", `The target ${shown(text)} ends with a number, as no name does`, example);
  return readAs(`${name}.`);
}
