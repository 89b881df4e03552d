import { type AddressRule, readIpv4Value, readIpv6Value } from "./address-values.ts";
import { flawed, type Reading } from "./problem.ts";
import type { RecordType } from "./record-types.ts";
import { readCaaValue, readSshfpValue, readTlsaValue, type SecurityRule } from "./security-values.ts";
import { readHostValue, readMxValue, readNameValue, readSrvValue, type TargetRule } from "./target-values.ts";
import { readTextValue, type TextRule } from "./text-values.ts";

export type ValueRule = AddressRule | TargetRule | TextRule | SecurityRule | "value_too_long";

type ReadValue = (text: string, zone: string) => Reading<string, ValueRule>;

const readers: { readonly [Type in RecordType]: ReadValue } = {
  A: readIpv4Value,
  AAAA: readIpv6Value,
  CNAME: readNameValue,
  MX: readMxValue,
  TXT: readTextValue,
  NS: readHostValue,
  SRV: readSrvValue,
  CAA: readCaaValue,
  PTR: readNameValue,
  TLSA: readTlsaValue,
  SSHFP: readSshfpValue,
};

/** As a text: a TXT value of 4,096 bytes that are all written as `\DDD`, with its quotes. */
export const maxValueLength = 17_000;

/**
 * Reads one value of a record set into its canonical text: what Kule stores, shows, compares and sends to the
 * provider. A canonical text read again is the same.
 *
 * @param zone the domain's canonical name: a fix shows what was probably meant in it
 */
export function readValue(type: RecordType, text: string, zone: string): Reading<string, ValueRule> {
  if (text.length <= maxValueLength) return readers[type](text, zone);
  return flawed("value_too_long", `The value has ${text.length} characters`, "Enter a shorter value");
}
