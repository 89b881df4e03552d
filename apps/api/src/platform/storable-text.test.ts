import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld } from "../testing/api-world.ts";

let world: ApiWorld;
let owner: ApiCaller;
beforeAll(async () => {
  world = await ApiWorld.open();
  owner = (await world.addOrganisation("odd-paths")).owner;
});
afterAll(() => world.close());

test.each([
  ["a NUL", "key_%00"],
  ["half of a pair where it is cut", `${"k".repeat(99)}%F0%9F%97%BC`],
  ["bytes that are no text", "key_%ff"],
])(
  "an id with %s is absent under an idempotency key too, and its refusal is in the audit trail",
  async (_what, id) => {
    const refused = await owner.delete(`/ssh-keys/${id}`, { "Idempotency-Key": "odd" });
    expect(refused.status).toBe(404);
    const audit = await owner.get("/audit?action=ssh_key.delete&limit=200");
    const requestIds = audit.body.items.map((entry: { request_id: string }) => entry.request_id);
    expect(requestIds).toContain(refused.body.request_id);
  },
);

test.each(["a\0b", "\ud800", `${"k".repeat(199)}🗼`])(
  "a field named %j is refused, and its refusal is in the audit trail",
  async (name) => {
    const refused = await owner.post("/ssh-keys", { [name]: 1 });
    expect(refused.status).toBe(422);
    const audit = await owner.get("/audit?action=ssh_key.create&limit=200");
    const requestIds = audit.body.items.map((entry: { request_id: string }) => entry.request_id);
    expect(requestIds).toContain(refused.body.request_id);
  },
);
