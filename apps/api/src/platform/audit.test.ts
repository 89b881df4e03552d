import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../testing/api-world.ts";
import { ed25519Line } from "../testing/ssh-key-lines.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let viewer: ApiCaller;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  viewer = await world.addToken(acme.id, "viewer");
});
afterAll(() => world.close());

async function entryOf(requestId: string) {
  const { body } = await acme.owner.get("/audit?limit=200");
  return body.items.filter((entry: { request_id: string }) => entry.request_id === requestId);
}

test("a mutation records who, what, when and how it ended", async () => {
  const created = await acme.owner.post(
    "/ssh-keys",
    { name: "laptop", public_key: ed25519Line() },
    { "X-Request-Id": "audit-1" },
  );
  expect(await entryOf("audit-1")).toEqual([
    {
      id: expect.stringMatching(/^aud_/),
      at: expect.any(String),
      actor: { type: "token", id: expect.stringMatching(/^tok_/), name: "owner token" },
      action: "ssh_key.create",
      resource: created.body.id,
      organisation_id: acme.id,
      outcome: "succeeded",
      http_status: 201,
      code: null,
      request_id: "audit-1",
      source_address: null,
      details: expect.objectContaining({
        name: "laptop",
        fingerprint_sha256: created.body.fingerprint_sha256,
      }),
    },
  ]);
});

test.each([
  ["403", "audit-403", 403, "forbidden", () => viewer.post("/ssh-keys", {}, { "X-Request-Id": "audit-403" })],
  [
    "404",
    "audit-404",
    404,
    "not_found",
    () => acme.owner.delete("/ssh-keys/key_00000000000000000000000000", { "X-Request-Id": "audit-404" }),
  ],
  [
    "422",
    "audit-422",
    422,
    "validation_failed",
    () => acme.owner.post("/ssh-keys", {}, { "X-Request-Id": "audit-422" }),
  ],
  [
    "409",
    "audit-409",
    409,
    "name_taken",
    () =>
      acme.owner.post(
        "/ssh-keys",
        { name: "laptop", public_key: ed25519Line() },
        { "X-Request-Id": "audit-409" },
      ),
  ],
  [
    "400",
    "audit-400",
    400,
    "malformed_json",
    () => acme.owner.post("/ssh-keys", "{", { "X-Request-Id": "audit-400" }),
  ],
] as const)("a mutation refused with %s is in the trail", async (_name, requestId, status, code, call) => {
  expect((await call()).status).toBe(status);
  const [entry, ...more] = await entryOf(requestId);
  expect(more).toEqual([]);
  expect(entry).toMatchObject({ outcome: "refused", http_status: status, code });
});

test("a 412 is in the trail, and the resource is unchanged", async () => {
  const { body } = await acme.owner.post("/ssh-keys", { name: "etag", public_key: ed25519Line() });
  const headers = { "If-Match": '"g7"', "X-Request-Id": "audit-412" };
  expect((await acme.owner.patch(`/ssh-keys/${body.id}`, { name: "new" }, headers)).status).toBe(412);
  expect(await entryOf("audit-412")).toMatchObject([
    { outcome: "refused", http_status: 412, resource: body.id },
  ]);
  expect((await acme.owner.get(`/ssh-keys/${body.id}`)).body.name).toBe("etag");
});

test("what an operator does in an organisation is in that organisation's trail", async () => {
  const call = world.operator.with({ "Kule-Organisation": acme.id, "X-Request-Id": "audit-operator" });
  expect((await call.post("/ssh-keys", { name: "by operator", public_key: ed25519Line() })).status).toBe(201);
  const [entry] = await entryOf("audit-operator");
  expect(entry).toMatchObject({ actor: { type: "operator" }, details: { on_behalf: true } });
});

test("a refused body is not copied into the trail", async () => {
  const body = { name: "x", public_key: "-----BEGIN OPENSSH PRIVATE KEY-----\nSWORDFISH" };
  expect((await acme.owner.post("/ssh-keys", body, { "X-Request-Id": "audit-private" })).status).toBe(422);
  const entries = await entryOf("audit-private");
  expect(entries).toHaveLength(1);
  expect(JSON.stringify(entries)).not.toContain("SWORDFISH");
});

test("reads leave nothing, and a dry run leaves nothing", async () => {
  await acme.owner.get("/ssh-keys", { "X-Request-Id": "audit-read" });
  expect(await entryOf("audit-read")).toEqual([]);
});

test("the trail's entries cannot be changed or removed", async () => {
  const { db } = world.replica.deps;
  const plain = db.withoutPlugins();
  await expect(plain.updateTable("audit").set({ action: "x" }).execute()).rejects.toThrow(
    /permission denied/,
  );
  await expect(plain.deleteFrom("audit").execute()).rejects.toThrow(/permission denied/);
});

test("members without audit:read cannot read it, other organisations see none of it", async () => {
  expect((await viewer.get("/audit")).status).toBe(403);
  const other = await world.addOrganisation("other");
  const { body } = await other.owner.get("/audit");
  expect(body.items.every((entry: { organisation_id: string }) => entry.organisation_id === other.id)).toBe(
    true,
  );
  const all = await world.operator.get("/audit?action=organisation.create");
  expect(all.body.items.map((entry: { details: { slug: string } }) => entry.details.slug)).toEqual([
    "other",
    "acme",
  ]);
});

test("a token at the wrong kind of call is recorded, reads included: so a stolen agent's token is detected", async () => {
  const { agent } = await world.addRegion("audited");
  const noted = async (action: string) =>
    (await world.operator.get(`/audit?action=${action}`)).body.items.map(
      (each: { actor: { type: string }; resource: string; http_status: number }) => [
        each.actor.type,
        each.resource,
        each.http_status,
      ],
    );
  const job = "job_00000000000000000000000000";
  await agent.get("/servers");
  await agent.post(`/agent/jobs/${job}/steps`, { epoch: 1, seq: 1 });
  await acme.owner.post("/agent/jobs/claim", {});
  await agent.get("/me");
  expect(await noted("agent.refused")).toEqual([
    ["token", null, 403],
    ["agent", job, 404],
    ["agent", null, 403],
  ]);
});
