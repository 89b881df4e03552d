import { flawed, type Reading, readAs, shown } from "./problem.ts";
import { type QuotedTextRule, quoted, readQuotedStrings, utf8Bytes } from "./quoted-text.ts";
import { type FieldsRule, fieldsOf, readOneOf } from "./value-fields.ts";

export type SecurityRule =
  | FieldsRule
  | QuotedTextRule
  | "caa_tag"
  | "caa_value_too_long"
  | "hexadecimal"
  | "hexadecimal_length";

const maxCaaTagLength = 15;
const maxCaaValueBytes = 255;
/** A whole certificate or key (matching type 0): as many bytes as a TXT value. */
const maxCertificateBytes = 4_096;

/** A value of CAA: `0 issue "letsencrypt.org"`; the quotes may be left out. */
export function readCaaValue(text: string): Reading<string, SecurityRule> {
  const parts = /^(\S+)[ \t]+(\S+)[ \t]+(\S.*)$/s.exec(text.trim());
  if (parts === null)
    return flawed(
      "value_fields",
      `${shown(text)} is not flags, tag and value`,
      'Enter all three, such as 0 issue "letsencrypt.org"',
    );
  const [, flagsText = "", tag = "", valueText = ""] = parts;
  const flags = readOneOf(flagsText, "flags", [0, 128]);
  if (!flags.ok) return flags;
  if (!/^[A-Za-z0-9]+$/.test(tag) || tag.length > maxCaaTagLength)
    return flawed(
      "caa_tag",
      `${shown(tag)} is not a tag`,
      "Enter issue, issuewild, issuemail or iodef as tag",
    );
  const value = readCaaText(valueText);
  if (!value.ok) return value;
  if (value.value.length > maxCaaValueBytes)
    return flawed(
      "caa_value_too_long",
      `The value has ${value.value.length} bytes`,
      `Enter at most ${maxCaaValueBytes} bytes`,
    );
  return readAs(`${flags.value} ${tag.toLowerCase()} ${quoted(value.value)}`);
}

function readCaaText(text: string): Reading<readonly number[], SecurityRule> {
  if (!text.startsWith('"') && /^\S+$/.test(text) && text.isWellFormed()) return readAs(utf8Bytes(text));
  const strings = readQuotedStrings(text);
  if (!strings.ok) return strings;
  const [only, ...more] = strings.value;
  if (only === undefined || more.length > 0)
    return flawed("text_quotes", "The value has several parts in quotes", "Enter one part in quotes");
  return readAs(only);
}

/** A value of TLSA: usage, selector, matching type and the data in hexadecimal, `3 1 1 <64 digits>`. */
export function readTlsaValue(text: string): Reading<string, SecurityRule> {
  const [usageText, selectorText, matchingText, ...digits] = fieldsOf(text);
  if (
    usageText === undefined ||
    selectorText === undefined ||
    matchingText === undefined ||
    digits.length === 0
  )
    return flawed(
      "value_fields",
      `${shown(text)} is not usage, selector, matching type and data`,
      "Enter all four, such as 3 1 1 and the SHA-256 hash of the key in hexadecimal",
    );
  const usage = readOneOf(usageText, "usage", [0, 1, 2, 3]);
  if (!usage.ok) return usage;
  const selector = readOneOf(selectorText, "selector", [0, 1]);
  if (!selector.ok) return selector;
  const matching = readOneOf(matchingText, "matching type", [0, 1, 2]);
  if (!matching.ok) return matching;
  const data = readHex(digits, { 0: null, 1: 32, 2: 64 }[matching.value]);
  return data.ok ? readAs(`${usage.value} ${selector.value} ${matching.value} ${data.value}`) : data;
}

/** A value of SSHFP: algorithm, fingerprint type and the fingerprint in hexadecimal, as `ssh-keygen -r` prints. */
export function readSshfpValue(text: string): Reading<string, SecurityRule> {
  const [algorithmText, typeText, ...digits] = fieldsOf(text);
  if (algorithmText === undefined || typeText === undefined || digits.length === 0)
    return flawed(
      "value_fields",
      `${shown(text)} is not algorithm, fingerprint type and fingerprint`,
      "Enter what ssh-keygen -r prints after SSHFP",
    );
  const algorithm = readOneOf(algorithmText, "algorithm", [1, 2, 3, 4, 6]);
  if (!algorithm.ok) return algorithm;
  const type = readOneOf(typeText, "fingerprint type", [1, 2]);
  if (!type.ok) return type;
  const fingerprint = readHex(digits, { 1: 20, 2: 32 }[type.value]);
  return fingerprint.ok ? readAs(`${algorithm.value} ${type.value} ${fingerprint.value}`) : fingerprint;
}

/** @param digits in groups, as zone files may have them. @param bytes how many there must be; null: any */
function readHex(digits: readonly string[], bytes: number | null): Reading<string, SecurityRule> {
  const text = digits.join("").toLowerCase();
  if (!/^[0-9a-f]+$/.test(text) || text.length % 2 !== 0)
    return flawed(
      "hexadecimal",
      `${shown(text)} is not hexadecimal`,
      "Enter pairs of the digits 0-9 and a-f",
    );
  const count = text.length / 2;
  if (bytes !== null && count !== bytes)
    return flawed(
      "hexadecimal_length",
      `The data has ${count} bytes`,
      `Enter ${bytes} bytes (${bytes * 2} digits)`,
    );
  if (count > maxCertificateBytes)
    return flawed(
      "hexadecimal_length",
      `The data has ${count} bytes`,
      `Enter at most ${maxCertificateBytes} bytes`,
    );
  return readAs(text);
}
