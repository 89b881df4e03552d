import { freshDatabase } from "@kule/testing/database";
import pg from "pg";
import { expect, test } from "vitest";
import { dumpDatabase } from "./database-dump.ts";
import { needlesOf } from "./needles.ts";
import { type Secret, searchSecrets, secretViolations } from "./secret-search.ts";

const secret: Secret = { what: "the canary", value: 'Kanarya+9/x="ü' };
const found = (text: string) =>
  searchSecrets([secret], [{ name: "it", text, control: text.slice(0, 20) }]).hits;

test.each([
  ["plain", (text: string) => `a${text}b`],
  ["hex", (text: string) => `\\x00${Buffer.from(text).toString("hex")}ff`],
  ["HEX", (text: string) => Buffer.from(text).toString("hex").toUpperCase().padStart(40, "0")],
  ["JSON", (text: string) => JSON.stringify({ password: text })],
  ["percent-encoded", (text: string) => `?password=${encodeURIComponent(text)}&`],
  ["percent-encoded twice", (text: string) => encodeURIComponent(encodeURIComponent(text)).padEnd(20)],
] as const)("is found when it is written as %s", (encoding, write) => {
  expect(found(write(secret.value)).map((hit) => hit.encoding)).toEqual([encoding]);
});

test("is found in base64 wherever it begins and whatever follows", () => {
  for (const before of ["", "u", "us", "use", "user:"])
    for (const after of ["", ":", "::", "more"])
      for (const alphabet of ["base64", "base64url"] as const) {
        const text = Buffer.from(before + secret.value + after).toString(alphabet);
        expect(found(text), `${before} ${after} ${alphabet}`).toHaveLength(1);
      }
});

test("is not found where it is not, nor where it belongs", () => {
  const control = "something known";
  expect(searchSecrets([secret], [{ name: "log", text: control.repeat(100), control }]).hits).toEqual([]);
  const own = { name: "own", text: `${control} ${secret.value}`, control, mayHold: new Set([secret.what]) };
  expect(searchSecrets([secret], [own]).hits).toEqual([]);
});

test("a search without any place to search reports that", () => {
  const result = searchSecrets([secret], [{ name: "log", text: "", control: "something known" }]);
  expect(secretViolations(result)).toEqual(["the search of log does not find what is known to be there"]);
});

test("a text short enough to occur by chance is not a secret", () => {
  expect(() => needlesOf("short")).toThrow(/by chance/);
});

test("a planted value is found in any column of any table", async () => {
  const database = await freshDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query("create table planted (a bytea, b jsonb, c text[])");
  const values = [Buffer.from(secret.value), JSON.stringify({ x: secret.value }), [`${secret.value}`]];
  for (const [index, column] of ["a", "b", "c"].entries()) {
    await owner.query(`insert into planted (${column}) values ($1)`, [values[index]]);
    const tables = await dumpDatabase(database.ownerUrl);
    const planted = tables.find(({ name }) => name === "public.planted");
    // Quotes are written differently within records, as nothing we issue has any.
    const plain = { what: "it", value: secret.value.slice(0, 12) };
    const bytes = { what: "it", value: secret.value };
    const { hits } = searchSecrets(
      [column === "a" ? bytes : plain],
      [{ name: "planted", text: planted?.text ?? "", control: planted?.text.slice(0, 20) ?? "" }],
    );
    expect(hits, column).toHaveLength(1);
    expect(tables.some(({ name }) => name.startsWith("graphile_worker."))).toBe(true);
    await owner.query("truncate planted");
  }
  await owner.end();
  await database.drop();
});
