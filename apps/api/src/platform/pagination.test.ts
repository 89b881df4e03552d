import { crc32 } from "node:zlib";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld, type TestOrganisation } from "../testing/api-world.ts";
import { ed25519Line } from "../testing/ssh-key-lines.ts";

let world: ApiWorld;
let acme: TestOrganisation;
const names = Array.from({ length: 23 }, (_, index) => `key-${String(index).padStart(2, "0")}`);

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  for (const [index, name] of names.entries())
    await acme.owner.post("/ssh-keys", {
      name,
      public_key: ed25519Line(),
      labels: { parity: index % 2 === 0 ? "even" : "odd", ...(index < 5 ? { "kule.dev/low": "" } : {}) },
    });
  // The same instant for many: the order must still be one.
  const owner = new Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  await owner.query("update ssh_key set created_at = '2026-01-01T00:00:00.123456Z' where name > 'key-10'");
  await owner.end();
});
afterAll(() => world.close());

const namesOf = (body: { items: { name: string }[] }) => body.items.map((item) => item.name);

async function walk(path: string): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const joined = cursor === "" ? path : `${path}&cursor=${cursor}`;
    const { status, body } = await acme.owner.get(joined);
    expect(status).toBe(200);
    pages.push(namesOf(body));
    cursor = body.next_cursor;
  }
  return pages;
}

test("pages contain every item once, in one order, the newest first", async () => {
  const pages = await walk("/ssh-keys?limit=5");
  expect(pages.map((page) => page.length)).toEqual([5, 5, 5, 5, 3]);
  expect(pages.flat()).toEqual(namesOf((await acme.owner.get("/ssh-keys?limit=200")).body));
  expect(new Set(pages.flat())).toEqual(new Set(names));
});

test("a page that ends with the list has no next one", async () => {
  expect((await walk("/ssh-keys?limit=23")).map((page) => page.length)).toEqual([23]);
});

test("rows that are added while paging neither repeat nor hide earlier ones", async () => {
  const { body: first } = await acme.owner.get("/ssh-keys?limit=10");
  const added = await acme.owner.post("/ssh-keys", { name: "late", public_key: ed25519Line() });
  const { body: second } = await acme.owner.get(`/ssh-keys?limit=200&cursor=${first.next_cursor}`);
  expect(new Set([...namesOf(first), ...namesOf(second)])).toEqual(new Set(names));
  await acme.owner.delete(`/ssh-keys/${added.body.id}`);
});

describe("a cursor that this list did not issue is refused", () => {
  const forged = (text: string) =>
    Buffer.from(`${crc32(text).toString(16).padStart(8, "0")}${text}`).toString("base64url");
  const list = "ssh-keys desc ssh_key.created_at,ssh_key.id";

  test.each([
    ["garbage", "abc"],
    ["no base64", "***"],
    ["another list's", forged(JSON.stringify(["networks desc network.created_at,network.id", "x", "y"]))],
    ["a time that is none", forged(JSON.stringify([list, "2026-02-30T00:00:00.000000Z", "key_1"]))],
    ["a text for a time", forged(JSON.stringify([list, "now(); drop table ssh_key", "key_1"]))],
    ["too short a position", forged(JSON.stringify([list, "2026-02-01T00:00:00.000000Z"]))],
    ["a NUL", forged(JSON.stringify([list, "2026-02-01T00:00:00.000000Z", "\0"]))],
    ["no JSON", forged("{")],
    ["an object", forged('{"a":1}')],
  ])("%s", async (_what, cursor) => {
    const answer = await acme.owner.get(`/ssh-keys?cursor=${encodeURIComponent(cursor)}`);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([
      { field: "cursor", code: "invalid_format", pointer: "cursor" },
    ]);
  });

  test("one with a character changed", async () => {
    const { body } = await acme.owner.get("/ssh-keys?limit=5");
    const cursor: string = body.next_cursor;
    const changed = `${cursor.slice(0, 20)}${cursor[20] === "A" ? "B" : "A"}${cursor.slice(21)}`;
    expect((await acme.owner.get(`/ssh-keys?limit=5&cursor=${changed}`)).status).toBe(422);
  });
});

describe("filters", () => {
  test.each([
    ["parity=even", 12],
    ["parity!=even", 11],
    ["parity in (even,odd)", 23],
    ["parity notin (odd)", 12],
    ["kule.dev/low", 5],
    ["!kule.dev/low", 18],
    ["parity=odd,kule.dev/low", 2],
    ["missing!=x", 23],
    ["missing=x", 0],
  ])("the selector %s finds %i", async (selector, count) => {
    const { body } = await acme.owner.get(
      `/ssh-keys?limit=200&label_selector=${encodeURIComponent(selector)}`,
    );
    expect(body.items).toHaveLength(count);
  });

  test("a selector that cannot be read is refused, and its text is never SQL", async () => {
    for (const selector of ["=", "a=b'; drop table ssh_key; --", "(a", "a in ()x"]) {
      const answer = await acme.owner.get(`/ssh-keys?label_selector=${encodeURIComponent(selector)}`);
      expect([selector, answer.status]).toEqual([selector, 422]);
      expect(answer.body.errors[0].field).toBe("label_selector");
    }
  });

  test("a name finds exactly that one", async () => {
    expect(namesOf((await acme.owner.get("/ssh-keys?name=key-07")).body)).toEqual(["key-07"]);
    expect(namesOf((await acme.owner.get("/ssh-keys?name=key-0")).body)).toEqual([]);
  });
});
