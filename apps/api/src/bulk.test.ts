import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApiCaller } from "./testing/api-caller.ts";
import { ApiWorld } from "./testing/api-world.ts";

let world: ApiWorld;
let owner: ApiCaller;

beforeAll(async () => {
  world = await ApiWorld.open();
  await world.addRegion("r1");
  owner = (await world.addOrganisation("bulk")).owner;
});
afterAll(() => world?.close());

type Sent = { readonly status: number; readonly bytes: number; readonly body: Record<string, unknown> };

async function post(path: string, text: string, headers: Record<string, string> = {}): Promise<Sent> {
  const response = await world.app.request(`/api/v1${path}`, {
    method: "POST",
    body: text,
    headers: { "Content-Type": "application/json", ...headers },
  });
  const answer = await response.text();
  return { status: response.status, bytes: answer.length, body: JSON.parse(answer) };
}

const asOwner = () => ({ Authorization: `Bearer ${owner.token}` });
const fields = (count: number, value = "1") =>
  `{${Array.from({ length: count }, (_, index) => `"f${index}":${value}`).join(",")}}`;
const list = (count: number, value: string) => `[${Array.from({ length: count }, () => value).join(",")}]`;

it("a body of a sign-in has at most 16 kB, whoever sends it", async () => {
  expect((await post("/auth/login", fields(90_000))).status).toBe(413);
  expect((await post("/auth/login", `{"email":"${"a".repeat(16_400)}"}`)).status).toBe(413);
  expect((await post("/auth/login", `{"email":"${"a".repeat(16_000)}"}`)).status).toBe(422);
});

it("of very many wrong fields a hundred are named, with how many are left out", async () => {
  const answer = await post("/servers", fields(15_000), asOwner());
  expect(answer.status).toBe(422);
  expect(answer.body.errors).toHaveLength(100);
  expect(answer.body.errors_left_out).toBeGreaterThan(14_000);
  expect(String(answer.body.detail).length).toBeLessThan(4_000);
  expect(answer.bytes).toBeLessThan(100_000);
});

it("a few wrong fields are all named, and none is left out", async () => {
  const answer = await post("/ssh-keys", fields(90), asOwner());
  expect(answer.body.errors).toHaveLength(92);
  expect(answer.body).not.toHaveProperty("errors_left_out");
});

it("a field's name of half a megabyte is not returned", async () => {
  const name = "x".repeat(500_000);
  const answer = await post("/servers", `{"${name}":1}`, asOwner());
  expect(answer.status).toBe(422);
  expect(answer.bytes).toBeLessThan(5_000);
});

it("numbers without end under a name of half a megabyte cost no more than others", async () => {
  const startedAt = performance.now();
  const answer = await post("/servers", `{"${"x".repeat(500_000)}":${list(15_000, "1e999")}}`, asOwner());
  expect(answer.status).toBe(422);
  expect(answer.bytes).toBeLessThan(100_000);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

it("a list that is too long is named itself, and its items are not checked", async () => {
  const answer = await post(
    "/servers",
    `{"name":"a","image":"debian-12","package":"s","ssh_key_ids":${list(15_000, "1")}}`,
    asOwner(),
  );
  expect(answer.status).toBe(422);
  expect(answer.body.errors).toEqual([
    { field: "ssh_key_ids", pointer: "/ssh_key_ids", code: "too_long", message: "must have at most 50" },
  ]);
});

it.each([
  ["servers with keys", "/servers", `{"ssh_key_ids":${list(200_000, "1")}}`],
  ["firewalls with rules", "/firewalls", `{"name":"f","rules":${list(200_000, "1")}}`],
  ["anything", "/networks", list(200_000, "[]")],
])("%s by the hundred thousand are refused before they are parsed", async (_what, path, text) => {
  const answer = await post(path, text, asOwner());
  expect(answer.status).toBe(413);
  expect(answer.body.code).toBe("payload_too_large");
});

it("commas and brackets in texts are no values", async () => {
  const text = JSON.stringify({ name: "a", public_key: ",[{:".repeat(30_000) });
  expect((await post("/ssh-keys", text, asOwner())).status).toBe(422);
});

it("a repeated field is named", async () => {
  const twice = async (text: string) => {
    const { status, body } = await post("/ssh-keys", text, asOwner());
    expect([status, body.code]).toEqual([400, "malformed_json"]);
    return String(body.detail);
  };
  expect(await twice('{"name":"a","public_key":"k","name":"b"}')).toContain('"/name"');
  expect(await twice('{"name":"a","labels":{"x":"1","y":{},"\\u0078":"2"}}')).toContain('"/labels/x"');
  expect(await twice('[{"a":1},{"b":[0,{"c":"}\\",","c":2}]}]')).toContain('"/1/b/1/c"');
  expect(await twice('{"__proto__":1,"__proto__":1}')).toContain('"/__proto__"');
  const long = "k".repeat(100_000);
  expect((await twice(`{"${long}":1,"${long}":1}`)).length).toBeLessThan(500);
});

it("the same field in two objects is no repetition", async () => {
  const answer = await post("/ssh-keys", '{"name":"name","labels":{"name":"a"},"public_key":"x"}', asOwner());
  expect(answer.status).toBe(422);
});

it.each([
  ["an encoding", { "Content-Encoding": "gzip" }],
  ["an encoding that is unknown", { "Content-Encoding": "identity, x-odd" }],
  ["a charset", { "Content-Type": "application/json; charset=utf-16" }],
  ["a charset in quotes", { "Content-Type": 'application/json;charset="iso-8859-9"' }],
  ["two charsets", { "Content-Type": "application/json; charset=utf-8; charset=utf-7" }],
])("an unsupported body in %s is 415", async (_what, headers) => {
  const text = '{"name":"a","public_key":"x"}';
  const answer = await post("/ssh-keys", text, { ...asOwner(), ...headers });
  expect([answer.status, answer.body.code]).toEqual([415, "unsupported_media_type"]);
});

it.each([
  [{ "Content-Encoding": "identity" }],
  [{ "Content-Type": "application/json; charset=utf-8" }],
  [{ "Content-Type": 'application/json;CHARSET="UTF-8"; profile=x' }],
  [{ "Content-Type": "application/merge-patch+json;charset=utf8" }],
])("a body with %j is read", async (headers) => {
  const answer = await post("/ssh-keys", '{"name":"a","public_key":"x"}', { ...asOwner(), ...headers });
  expect(answer.status).toBe(422);
});
