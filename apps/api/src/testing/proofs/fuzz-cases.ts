import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import {
  allOperations,
  bodySchema,
  type JsonSchema,
  parametersOf,
} from "@kule/testing/contract/contract-schema";
import { type Defect, defectsOf, independent } from "@kule/testing/contract/defects";
import { hostileTexts, malformedIds } from "@kule/testing/contract/hostile-text";
import { validValue } from "@kule/testing/contract/valid-values";
import fc from "fast-check";
import { bodyMeaning, type FuzzPools } from "./fuzz-pools.ts";
import { needsNewPerson } from "./person.ts";

/** Which identifier a part of the path gets. Own ones are chosen when the request is made: requests use them up. */
export type PathChoice =
  | { readonly from: "own"; readonly pick: number }
  | { readonly from: "foreign" | "absent" }
  | { readonly from: "text"; readonly text: string };

export type FuzzBody =
  | { readonly kind: "none" }
  | { readonly kind: "valid"; readonly value: unknown }
  /** The body that is known to succeed, as long as the state allows it. */
  | { readonly kind: "recipe" }
  /** Wrong at these pointers, each of which the answer must name. */
  | { readonly kind: "defects"; readonly value: unknown; readonly pointers: readonly string[] }
  /** Any JSON. */
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "broken"; readonly bytes: Uint8Array<ArrayBuffer> };

export type FuzzCase = {
  readonly operation: OperationInfo;
  readonly actor: string;
  /** Another method than the operation's, or null. */
  readonly method: string | null;
  readonly path: Readonly<Record<string, PathChoice>>;
  /** Added to the path as it is. */
  readonly pathTail: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly rawQuery: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string | null;
  readonly body: FuzzBody;
};

/** Requests to every operation of the contract: right, nearly right, and hostile. */
export function fuzzCases(pools: FuzzPools): fc.Arbitrary<FuzzCase> {
  return fc.oneof(...allOperations().map((operation) => casesOf(operation, pools)));
}

function casesOf(operation: OperationInfo, pools: FuzzPools): fc.Arbitrary<FuzzCase> {
  // An actor who has signed out, or switched to another session, takes no further part in the run.
  const present = pools.actors.filter(
    (actor) => !needsNewPerson(operation.id) || !actor.name.startsWith("session"),
  );
  const allowed = present.filter((actor) => actor.permissions.has(operation.permission));
  const anybody = fc.constantFrom(...present.map((actor) => actor.name));
  return fc.record(
    {
      operation: fc.constant(operation),
      actor:
        allowed.length === 0
          ? anybody
          : fc.oneof(
              { weight: 4, arbitrary: fc.constantFrom(...allowed.map((actor) => actor.name)) },
              { weight: 1, arbitrary: anybody },
            ),
      method: rarely(
        null,
        fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"),
      ),
      path: pathChoices(operation),
      pathTail: rarely(
        "",
        fc.constantFrom("/", "//", "/x", "%", "%zz", "%2e%2e", ";a=b", "/..%2f", "%00", ".json"),
      ),
      query: queryOf(operation),
      rawQuery: rarely(
        null,
        fc.constantFrom(
          "%",
          "a=%zz",
          "&&&=",
          "limit[]=1",
          "limit=1&limit=2",
          "__proto__=1",
          "a[__proto__]=1",
        ),
      ),
      headers: headersOf(operation),
      contentType: rarely(
        "application/json",
        fc.constantFrom<(string | null)[]>(
          null,
          "text/plain",
          "application/json; charset=utf-16",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
          "application/xml",
          ";;;",
        ),
      ),
      body: bodyOf(operation, pools),
    },
    { noNullPrototype: true },
  );
}

/** Usually the plain value, so that one unusual value at a time reaches the checks behind it. */
function rarely<Value>(usual: Value, odd: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 24, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
}

function pathChoices(operation: OperationInfo): fc.Arbitrary<Record<string, PathChoice>> {
  const choice: fc.Arbitrary<PathChoice> = fc.oneof(
    { weight: 8, arbitrary: fc.nat().map((pick) => ({ from: "own", pick }) as const) },
    { weight: 1, arbitrary: fc.constantFrom<PathChoice>({ from: "foreign" }, { from: "absent" }) },
    {
      weight: 1,
      arbitrary: fc
        .oneof(
          fc.constantFrom(...malformedIds, ...hostileTexts),
          fc.string({ unit: "binary", maxLength: 30 }),
          fc.string({ unit: "grapheme", maxLength: 30 }),
        )
        // Dots alone are a way through a path, whatever they are written as.
        .filter((text) => text.isWellFormed() && text !== "" && !/^\.+$/.test(text))
        .map((text) => ({ from: "text", text }) as const),
    },
  );
  return fc.record(Object.fromEntries(operation.pathParameters.map((name) => [name, choice])), {
    noNullPrototype: true,
  });
}

function queryOf(operation: OperationInfo): fc.Arbitrary<[string, string][]> {
  const known = parametersOf(operation.id).filter((parameter) => parameter.in === "query");
  const value = (schema: JsonSchema) =>
    fc.oneof(
      { weight: 12, arbitrary: validValue(schema).map((valid) => String(valid)) },
      { weight: 2, arbitrary: fc.constantFrom(...hostileTexts) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("a".repeat(5000), "-1", "1e9", "99999999999999999999", "[]", "{}"),
      },
    );
  const pairs = known
    // A wait takes real time; that it is bounded has tests of its own.
    .filter((parameter) => parameter.name !== "wait" && parameter.name !== "fresh")
    .map((parameter) => value(parameter.schema).map((text): [string, string] => [parameter.name, text]));
  const unknown = fc
    .constantFrom("x_unknown", "__proto__", "organisation_id", "limit ", "LIMIT", "")
    .map((name): [string, string] => [name, "1"]);
  // For an operation without query parameters, any parameter would hide all later checks.
  if (pairs.length === 0)
    return rarely(
      [],
      unknown.map((pair) => [pair]),
    );
  return fc.array(
    fc.oneof({ weight: 1, arbitrary: unknown }, ...pairs.map((arbitrary) => ({ weight: 6, arbitrary }))),
    {
      maxLength: 2,
    },
  );
}

function headersOf(operation: OperationInfo): fc.Arbitrary<Record<string, string>> {
  const text = fc
    .oneof(
      fc.constantFrom(...hostileTexts, "x".repeat(9000), '"g1"', "*", 'W/"g1"'),
      fc.string({ maxLength: 40 }),
    )
    .map((candidate) =>
      Buffer.from(candidate)
        .toString("latin1")
        .replaceAll(/[\0\r\n]/g, ""),
    )
    .filter((candidate) => candidate.trim() !== "");
  const names = [
    ...operation.headerParameters.filter((name) => name !== "Kule-Organisation"),
    "X-Request-Id",
  ];
  const more = [
    "Accept",
    "Accept-Encoding",
    "Content-Encoding",
    "X-Forwarded-For",
    "X-HTTP-Method-Override",
    "Cookie",
    "Range",
    "Expect",
    "Origin",
  ];
  return rarely(
    {},
    fc.dictionary(fc.constantFrom(...names, ...more), text, { maxKeys: 3, noNullPrototype: true }),
  );
}

function bodyOf(operation: OperationInfo, pools: FuzzPools): fc.Arbitrary<FuzzBody> {
  const schema = bodySchema(operation.id);
  const hostile = hostileBodies();
  if (schema === null)
    return operation.method === "get"
      ? fc.constant<FuzzBody>({ kind: "none" })
      : fc.oneof(
          { weight: 5, arbitrary: fc.constant<FuzzBody>({ kind: "none" }) },
          { weight: 1, arbitrary: hostile },
        );
  const valid = validValue(schema, bodyMeaning(operation.id, pools));
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<FuzzBody>({ kind: "recipe" }) },
    { weight: 4, arbitrary: valid.map((value): FuzzBody => ({ kind: "valid", value })) },
    { weight: 4, arbitrary: withDefects(operation.id, schema, valid) },
    { weight: 2, arbitrary: hostile },
  );
}

function withDefects(
  id: OperationId,
  schema: JsonSchema,
  valid: fc.Arbitrary<unknown>,
): fc.Arbitrary<FuzzBody> {
  return fc
    .tuple(valid, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }))
    .map(([value, choices]): FuzzBody => {
      const candidates = defectsOf(schema, value);
      const chosen: Defect[] = [];
      for (const choice of choices) {
        const defect = candidates[choice % candidates.length];
        if (defect !== undefined && chosen.every((other) => independent(defect, other))) chosen.push(defect);
      }
      if (chosen.length === 0) throw new Error(`${id} has no defects`);
      const broken = structuredClone(value);
      for (const defect of chosen) defect.plant(broken);
      return { kind: "defects", value: broken, pointers: chosen.map((defect) => defect.pointer) };
    });
}

const repeated = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(",");
const longName = "n".repeat(300_000);

/** Bulk input: wrong fields, items, values that no column can store, under long names. */
const bulk: readonly string[] = [
  `{${repeated(15_000, (index) => `"unknown_field_that_nobody_has_ever_heard_of_${index}":1`)}}`,
  `{${repeated(300, (index) => `"${"n".repeat(2_000)}${index}":1`)}}`,
  `{"${longName}":[${repeated(15_000, () => "1e999")}]}`,
  `{"ssh_key_ids":[${repeated(200_000, () => "1")}],"name":"x"}`,
  `{${["rules", "ssh_key_ids", "firewall_ids", "subnet_ids", "scopes", "addresses", "vms", "capabilities"]
    .map((name) => `"${name}":[${repeated(2_000, () => "[]")}]`)
    .join(",")}}`,
  `{"labels":{${repeated(15_000, (index) => `"no key ${index}":{}`)}}}`,
  `[${repeated(300_000, () => "0")}]`,
];

function hostileBodies(): fc.Arbitrary<FuzzBody> {
  const json = (text: string): FuzzBody => ({ kind: "json", text });
  const broken = (bytes: string | number[]): FuzzBody => ({
    kind: "broken",
    bytes: Uint8Array.from(Buffer.from(bytes as string)),
  });
  return fc.oneof(
    fc.jsonValue({ maxDepth: 5 }).map((value) => json(JSON.stringify(value))),
    fc
      .dictionary(
        fc.constantFrom("name", "__proto__", "constructor", "id", "role", "labels", "email"),
        fc.jsonValue({ maxDepth: 3 }),
      )
      .map((value) => json(JSON.stringify(value))),
    fc
      .constantFrom(...hostileTexts)
      .map((text) => json(JSON.stringify({ name: text, labels: { [text]: text } }))),
    fc.constantFrom(
      json('{"__proto__":{"role":"owner"},"name":"x"}'),
      json('{"name":"a","name":"b","name":{}}'),
      json('{"constructor":{"prototype":{"admin":true}}}'),
      json(`{"name":"${"a".repeat(100_000)}"}`),
      json(`{"labels":{${Array.from({ length: 3000 }, (_, index) => `"k${index}":"v"`).join(",")}}}`),
      json(`${"[".repeat(49)}${"]".repeat(49)}`),
      json('{"epoch":1e400,"seq":-0,"progress":123456789012345678901234567890}'),
      json('"text"'),
      json("null"),
      json("[]"),
      json("0"),
    ),
    fc.constantFrom(...bulk.map(json)),
    fc.constantFrom(
      broken(""),
      broken("{"),
      broken('{"name":}'),
      broken("{'name':'x'}"),
      broken('{"name":"x",}'),
      broken('{"name":NaN}'),
      broken('{"name":"\u0001"}'),
      broken('{"name":"x"}{"name":"y"}'),
      broken("[".repeat(100_000)),
      broken('{"a":'.repeat(60_000)),
      broken([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      broken([0xef, 0xbb]),
      broken([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
      broken([0x1f, 0x8b, 0x08, 0x00, 0x00]),
      broken([0xed, 0xa0, 0x80]),
    ),
  );
}
