import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { printZoneFile } from "./print-zone-file.ts";
import { maxZoneFileLength, maxZoneFileRecords, readZoneFile } from "./read-zone-file.ts";
import { type RecordSet, recordSetKey } from "./record-set.ts";
import { anyZone, exampleZone } from "./testing/sample-record-sets.ts";
import { readTtl } from "./zone-file-line.ts";

const lines = (text: string) => {
  const reading = readZoneFile(text, exampleZone);
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.recordSets.map(({ name, ttl, type, values }) => [name, ttl, type, ...values].join(" "));
};
const problems = (text: string) => {
  const reading = readZoneFile(text, exampleZone);
  return reading.ok ? [] : reading.problems.map(({ line, field, rule }) => `${line} ${field}: ${rule}`);
};

describe("a zone file", () => {
  test("is read as name servers read it", () => {
    const text = `$ORIGIN example.com.
$TTL 1h30m
@       IN SOA ns1.example.net. host\\.master.example.net. (
                2026010101 ; serial
                3h 1h 1w 1h )
        NS      ns1.example.net.
        IN NS   ns2.example.net.
        MX      10 mail
        MX      20 mail.example.net.
mail    300 IN A 192.0.2.1
        IN 300 A 192.0.2.2
        AAAA    2001:DB8::1
www     CNAME   @
_sip._tcp SRV   0 5 5060 sip
text    TXT     ( "one ; two"
                  "three" )
plain   TXT     v=1
host    SSHFP   4 2 0123456789abcdef0123456789abcdef
                    0123456789abcdef0123456789abcdef
$ORIGIN dev.example.com.
@       A       192.0.2.3
*       cname   www
$ORIGIN sub
api     CNAME   www.example.com.
`
      .replace("4 2 0123", "4 2 ( 0123")
      .replace(/(abcdef)\n\$ORIGIN/, "$1 )\n$$ORIGIN");
    expect(lines(text)).toEqual([
      "@ 5400 MX 10 mail.example.com. 20 mail.example.net.",
      "mail 300 A 192.0.2.1 192.0.2.2",
      "mail 5400 AAAA 2001:db8::1",
      "www 5400 CNAME example.com.",
      "_sip._tcp 5400 SRV 0 5 5060 sip.example.com.",
      'text 5400 TXT "one ; two" "three"',
      'plain 5400 TXT "v=1"',
      `host 5400 SSHFP 4 2 ${"0123456789abcdef".repeat(4)}`,
      "dev 5400 A 192.0.2.3",
      "*.dev 5400 CNAME www.dev.example.com.",
      "api.sub.dev 5400 CNAME www.example.com.",
    ]);
    expect(readZoneFile(text, exampleZone)).toMatchObject({
      leftOut: [
        { line: 3, type: "SOA" },
        { line: 6, type: "NS" },
        { line: 7, type: "NS" },
      ],
    });
  });

  test("may have Windows line ends, a byte order mark and no line end at its end", () => {
    expect(lines("\ufeffwww A 192.0.2.1\r\n    A 192.0.2.2")).toEqual(["www 3600 A 192.0.2.1 192.0.2.2"]);
  });

  test("without $TTL gives a record the TTL before it, and the first ones the domain's", () => {
    expect(lines("a A 192.0.2.1\nb 60 A 192.0.2.1\nc A 192.0.2.1")).toEqual([
      "a 3600 A 192.0.2.1",
      "b 60 A 192.0.2.1",
      "c 60 A 192.0.2.1",
    ]);
    expect(lines("$TTL 120\nb 60 A 192.0.2.1\nc A 192.0.2.1").at(-1)).toBe("c 120 A 192.0.2.1");
  });

  test("may have the root as origin", () => {
    expect(lines("$ORIGIN .\nexample.com A 192.0.2.1\nwww.example.com CNAME example.com")).toEqual([
      "@ 3600 A 192.0.2.1",
      "www 3600 CNAME example.com.",
    ]);
  });

  test("with the same record twice has it once", () => {
    expect(lines("a A 192.0.2.1\na A 192.0.2.1")).toEqual(["a 3600 A 192.0.2.1"]);
  });
});

describe("what is wrong in a zone file is told with its line", () => {
  test.each([
    ["\n$INCLUDE other.zone", ["2 line: directive"]],
    ["$GENERATE 1-9 a$ A 192.0.2.$", ["1 line: directive"]],
    ["$TTL", ["1 line: ttl"]],
    ["$TTL soon", ["1 line: ttl"]],
    ["$ORIGIN", ["1 line: origin"]],
    ["$ORIGIN a..b.", ["1 line: empty_label"]],
    ["a CH A 192.0.2.1", ["1 line: class"]],
    ["a", ["1 line: no_type"]],
    ["a 60 IN", ["1 line: no_type"]],
    ["a ALIAS b", ["1 type: unsupported_type"]],
    ["a TYPE65 \\# 0", ["1 type: unsupported_type"]],
    ["a SOA x. y. 1 2 3 4 5", ["1 type: soa"]],
    ["a 59 A 192.0.2.1", ["1 ttl: ttl_range"]],
    ["a 60 A 192.0.2.1\na 61 A 192.0.2.2", ["2 ttl: ttl_differs"]],
    ["a A x\nb AAAA y", ["1 values: address", "2 values: address"]],
    ["a A", ["1 values: address"]],
    ["a.example.org. A 192.0.2.1", ["1 name: outside_zone"]],
    ["  A 192.0.2.1\n  A 192.0.2.2", ["1 name: no_owner"]],
    ["a..b A 192.0.2.1\n  A 192.0.2.2", ["1 name: empty_label"]],
    ['a TXT "x\nb A 192.0.2.1', ["1 line: unclosed_quote"]],
    ['a TXT "x\n  A 192.0.2.1', ["1 line: unclosed_quote"]],
    ["a A ( 192.0.2.1", ["1 line: unclosed_parenthesis"]],
    ["a A 192.0.2.1 )", ["1 line: stray_parenthesis"]],
    ["a A 192.0.2.1\na CNAME b", ["2 type: cname_beside_others"]],
    ["@ CNAME b", ["1 name: cname_at_apex"]],
    ["* NS ns1.example.net.", ["1 name: wildcard_ns"]],
    ['a TXT "\\999"', ["1 values: text_escape"]],
  ])("%j", (text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  test("a problem names the record", () => {
    expect(readZoneFile("www MX mail", exampleZone)).toMatchObject({
      problems: [{ line: 1, name: "www", type: "MX", rule: "value_fields" }],
    });
  });

  test("a record set has at most a hundred values", () => {
    const text = Array.from({ length: 105 }, (_, index) => `a A 192.0.2.${index}`).join("\n");
    expect(problems(text)).toEqual(["1 values: too_many_values"]);
  });
});

describe("a zone file is bounded", () => {
  test("in its length", () => {
    expect(problems(";".repeat(maxZoneFileLength))).toEqual([]);
    expect(problems(";".repeat(maxZoneFileLength + 1))).toEqual(["1 line: file_too_large"]);
  });

  test("in its records", () => {
    const text = Array.from({ length: maxZoneFileRecords }, (_, index) => `h${index} A 192.0.2.1`).join("\n");
    expect(problems(text)).toEqual([]);
    expect(problems(`${text}\nx A 192.0.2.1\ny A wrong`)).toEqual([
      `${maxZoneFileRecords + 1} line: too_many_records`,
    ]);
  });

  test("in its problems", () => {
    const reading = readZoneFile("a A x\n".repeat(150), exampleZone);
    expect(reading).toMatchObject({ ok: false, moreProblems: 50 });
    expect(reading.ok ? [] : reading.problems).toHaveLength(100);
  });

  // One that takes the square of the length of a file would not end.
  const MiB = maxZoneFileLength;
  const fill = (unit: string) => unit.repeat(Math.floor(MiB / unit.length));
  test.each([
    ["parentheses", fill("(")],
    ["closed parentheses", fill(")")],
    ["quotes", fill('"')],
    ["open quotes", fill('"\n')],
    ["backslashes", fill("\\")],
    ["one word", fill("a")],
    ["digits as a TTL", `a ${fill("1").slice(9)}x`],
    ["words", fill("a ")],
    ["labels", fill("a.")],
    ["lines", fill("a\n")],
    ["blanks", fill(" ")],
    ["line ends", fill("\n")],
    ["comments", fill(";\n")],
    ["origins that grow", fill("$ORIGIN a\n")],
    ["directives", fill("$TTL 60\n")],
    ["letters that are not ASCII", fill("ü")],
    ["short names that are not ASCII", fill("ü A 1\n")],
    ["one long text", `a TXT "${fill("x").slice(20)}"`],
    ["texts", fill('a TXT "x" y\n')],
    ["escapes", `a TXT "${fill("\\000").slice(20)}"`],
    ["one record set", fill("a A 192.0.2.1\n")],
    ["addresses", `a AAAA ${fill("1:").slice(20)}`],
    ["half characters", fill("\ud800")],
  ])("in its time: %s", (_, text) => {
    expect(text.length).toBeLessThanOrEqual(MiB);
    expect(() => readZoneFile(text, exampleZone)).not.toThrow();
  });

  test("and no text makes the reader throw", () => {
    const part = fc.constantFrom(
      "$ORIGIN ",
      "$TTL ",
      "a",
      "@",
      "*",
      " ",
      "\n",
      "\t",
      "(",
      ")",
      '"',
      "\\",
      ";",
      "IN ",
      "60 ",
      "A ",
      "TXT ",
      "CNAME ",
      "MX ",
      "192.0.2.1",
      "1",
      ".",
      "example.com.",
      "ü",
      "\r\n",
      "SOA ",
      "NS ",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part).map((parts) => parts.join("")),
          fc.string({ unit: "binary" }),
        ),
        (text) => {
          const reading = readZoneFile(text, exampleZone);
          if (!reading.ok) expect(reading.problems.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("a printed zone file", () => {
  const print = (sets: readonly RecordSet[]) =>
    printZoneFile(
      {
        name: "example.com",
        defaultTtlSeconds: 3_600,
        soa: "ns1.example.net. hostmaster.example.net. 1 2 3 4 5",
        nameServers: ["ns1.example.net."],
      },
      sets,
    );
  const inOrder = (sets: readonly RecordSet[]) =>
    [...sets].sort((one, other) => (recordSetKey(one) < recordSetKey(other) ? -1 : 1));

  test("read again has the same record sets", () => {
    fc.assert(
      fc.property(anyZone, (sets) => {
        const reading = readZoneFile(print(sets), exampleZone);
        if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
        expect(inOrder(reading.recordSets)).toEqual(inOrder(sets));
        expect(reading.leftOut.map(({ type }) => type)).toEqual(["SOA", "NS"]);
      }),
    );
  });

  test("has the apex first and a name before what is inside of it", () => {
    const set = (name: string, type: "A" | "TXT", value: string): RecordSet => ({
      name,
      type,
      ttl: 60,
      values: [value],
    });
    expect(
      print([
        set("a.dev", "A", "192.0.2.1"),
        set("www", "A", "192.0.2.1"),
        set("dev", "TXT", '"x"'),
        set("dev", "A", "192.0.2.1"),
        set("@", "A", "auto:srv_1"),
      ]),
    ).toBe(`$ORIGIN example.com.
$TTL 3600
@\t3600\tIN\tSOA\tns1.example.net. hostmaster.example.net. 1 2 3 4 5
@\t3600\tIN\tNS\tns1.example.net.
; @\t60\tIN\tA\tauto:srv_1
dev\t60\tIN\tA\t192.0.2.1
dev\t60\tIN\tTXT\t"x"
a.dev\t60\tIN\tA\t192.0.2.1
www\t60\tIN\tA\t192.0.2.1
`);
  });
});

test.each([
  ["3600", 3_600],
  ["0", 0],
  ["1h30m", 5_400],
  ["1W2D", 777_600],
  ["90s", 90],
  ["1m30", 90],
  ["", null],
  ["h", null],
  ["1y", null],
  ["1hh", null],
  ["-1", null],
  ["1".repeat(31), null],
])("the TTL %j is %s s", (text, seconds) => {
  expect(readTtl(text)).toBe(seconds);
});
