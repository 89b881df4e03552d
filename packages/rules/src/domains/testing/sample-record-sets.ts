import fc from "fast-check";
import { formatIp } from "../../public-ips/addresses.ts";
import { defaultTtlSeconds, type RecordSet, recordSetKey, type Zone } from "../record-set.ts";
import { type RecordType, recordTypes } from "../record-types.ts";
import { readValue } from "../record-value.ts";

export const exampleZone: Zone = { name: "example.com", defaultTtlSeconds };

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
const plainLabel = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 8 });
const recordLabel = fc.oneof(
  plainLabel,
  fc.constantFrom("_dmarc", "_acme-challenge", "a-b", "xn--mnchen-3ya", "-"),
);

/** Names that collide often, so that merging and conflicts are common. */
export const anyRecordName = fc.oneof(
  fc.constantFrom("@", "*", "www", "*.dev"),
  fc.array(recordLabel, { minLength: 1, maxLength: 3 }).map((labels) => labels.join(".")),
);

const host = fc
  .tuple(plainLabel, plainLabel, fc.constantFrom("com", "net", "example"))
  .map((labels) => `${labels.join(".")}.`);
const uint16 = fc.integer({ min: 0, max: 65_535 });
const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((data) => Buffer.from(data).toString("hex"));
const anyText = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
  fc.string({ unit: fc.constantFrom('"', "\\", ";", "(", ")", " ", "\n", "\t", "0", "é"), minLength: 1 }),
  fc.string({ minLength: 240, maxLength: 700 }),
);

/** Texts of each type that a user may give. */
export const valueTexts: { readonly [Type in RecordType]: fc.Arbitrary<string> } = {
  A: fc.ipV4(),
  AAAA: fc.bigInt({ min: 1n << 64n, max: (1n << 128n) - 1n }).map((value) => formatIp({ version: 6, value })),
  CNAME: fc.oneof(host, fc.constant("_domainkey.mail.example.net.")),
  MX: fc.oneof(
    fc.tuple(uint16, host).map((fields) => fields.join(" ")),
    fc.constant("0 ."),
  ),
  TXT: anyText.map((text) => (text.trimStart().startsWith('"') ? `x${text}` : text)),
  NS: host,
  SRV: fc.tuple(uint16, uint16, uint16, fc.oneof(host, fc.constant("."))).map((fields) => fields.join(" ")),
  CAA: fc
    .tuple(fc.constantFrom(0, 128), fc.constantFrom("issue", "iodef"), fc.stringMatching(/^[!-:<-~]{1,40}$/))
    .filter(([, , value]) => !value.startsWith('"'))
    .map((fields) => fields.join(" ")),
  PTR: host,
  TLSA: fc.oneof(
    hex(32).map((data) => `3 1 1 ${data}`),
    hex(64).map((data) => `2 0 2 ${data.toUpperCase()}`),
    hex(300).map((data) => `0 0 0 ${data}`),
  ),
  SSHFP: fc.oneof(
    hex(20).map((data) => `1 1 ${data}`),
    hex(32).map((data) => `4 2 ${data}`),
  ),
};

const canonical = (type: RecordType, text: string): string => {
  const reading = readValue(type, text, exampleZone.name);
  if (!reading.ok) throw new Error(`${type} ${JSON.stringify(text)}: ${reading.flaw.message}`);
  return reading.value;
};

/** The null MX is beside no other value. */
const alone = (type: RecordType, values: string[]) =>
  type === "MX" && values.includes("0 .") ? ["0 ."] : values;

export const anyRecordSet: fc.Arbitrary<RecordSet> = fc.constantFrom(...recordTypes).chain((type) =>
  fc.record({
    name: anyRecordName,
    type: fc.constant(type),
    ttl: fc.integer({ min: 60, max: 604_800 }),
    values: fc
      .array(valueTexts[type], { minLength: 1, maxLength: type === "CNAME" ? 1 : 4 })
      .map((texts) => alone(type, [...new Set(texts.map((text) => canonical(type, text)))])),
  }),
);

/** Record sets that are a zone: no two of one key, and none beside what it cannot be beside. */
export const anyZone: fc.Arbitrary<RecordSet[]> = fc.array(anyRecordSet, { maxLength: 15 }).map((sets) => {
  const zone = new Map<string, RecordSet>();
  for (const set of sets) {
    const beside = [...zone.values()].filter(({ name }) => name === set.name);
    const isFree =
      beside.every(({ type }) => type !== "CNAME") && (set.type !== "CNAME" || beside.length === 0);
    const isAllowed =
      (set.type !== "CNAME" || set.name !== "@") && (set.type !== "NS" || !/^[@*]/.test(set.name));
    if (isFree && isAllowed) zone.set(recordSetKey(set), set);
  }
  return [...zone.values()];
});
