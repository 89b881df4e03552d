import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../testing/api-world.ts";
import { ed25519Line } from "../testing/ssh-key-lines.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let other: TestOrganisation;
let viewer: ApiCaller;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  other = await world.addOrganisation("other");
  viewer = await world.addToken(acme.id, "viewer");
});
afterAll(() => world.close());

const absentKey = "key_00000000000000000000000000";

async function newKey(owner: ApiCaller, name: string) {
  const created = await owner.post("/ssh-keys", { name, public_key: ed25519Line() });
  expect(created.status).toBe(201);
  return created.body as { id: string; generation: number };
}

describe("one check runs before the next", () => {
  test("401 before 403, 404 and 422", async () => {
    const nobody = new ApiCaller(world.app, null);
    const answer = await nobody.patch(`/ssh-keys/${absentKey}`, { wrong: true });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.body).toMatchObject({ code: "unauthorized", instance: `/api/v1/ssh-keys/${absentKey}` });
  });

  test("403 before 404 and 422, and it names what is missing", async () => {
    const answer = await viewer.patch(`/ssh-keys/${absentKey}`, { wrong: true });
    expect(answer.status).toBe(403);
    expect(answer.body.required).toEqual(["ssh_key:update"]);
  });

  test("404 before 422, 400 and 415", async () => {
    const path = `/ssh-keys/${absentKey}`;
    expect((await acme.owner.patch(path, { wrong: true })).status).toBe(404);
    expect((await acme.owner.patch(path, "not json")).status).toBe(404);
    expect((await acme.owner.patch(path, "x", { "Content-Type": "text/plain" })).status).toBe(404);
  });

  test("422 before 412, and 412 before 409", async () => {
    const key = await newKey(acme.owner, "first");
    await newKey(acme.owner, "second");
    const stale = { "If-Match": '"g99"' };
    expect((await acme.owner.patch(`/ssh-keys/${key.id}`, { name: "" }, stale)).status).toBe(422);
    expect((await acme.owner.patch(`/ssh-keys/${key.id}`, { name: "second" }, stale)).status).toBe(412);
    expect((await acme.owner.patch(`/ssh-keys/${key.id}`, { name: "second" })).status).toBe(409);
    const current = { "If-Match": `"g${key.generation}"` };
    const changed = await acme.owner.patch(`/ssh-keys/${key.id}`, { name: "third" }, current);
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).toBe('"g2"');
    expect((await acme.owner.delete(`/ssh-keys/${key.id}`, current)).status).toBe(412);
  });
});

describe("another caller's resource", () => {
  test("another organisation's id answers exactly like an absent and a malformed one", async () => {
    const foreign = await newKey(other.owner, "foreign");
    const answers = await Promise.all(
      [foreign.id, absentKey, "key_x", "srv_00000000000000000000000000", "%00", "%ff"].map((id) =>
        acme.owner.get(`/ssh-keys/${id}`, { "X-Request-Id": "same" }),
      ),
    );
    for (const answer of answers) {
      expect(answer.status).toBe(404);
      const { instance, ...rest } = answer.body;
      expect(rest).toEqual({ ...answers[0]?.body, instance: undefined });
      expect(instance).toContain("/ssh-keys/");
    }
  });

  test("a member cannot act in another organisation, nor learn that it exists", async () => {
    const foreign = await acme.owner.get("/ssh-keys", { "Kule-Organisation": other.id });
    const absent = await acme.owner.get("/ssh-keys", { "Kule-Organisation": "org_x" });
    expect(foreign.status).toBe(422);
    expect(foreign.body.errors).toEqual([
      {
        field: "Kule-Organisation",
        code: "not_found",
        message: "no such organisation",
        pointer: "Kule-Organisation",
      },
    ]);
    expect(absent.body.errors).toEqual(foreign.body.errors);
    expect((await acme.owner.get("/ssh-keys", { "Kule-Organisation": acme.id })).status).toBe(200);
  });

  test("an operator names the organisation to act in", async () => {
    const unnamed = await world.operator.get("/ssh-keys");
    expect(unnamed.status).toBe(422);
    expect(unnamed.body.errors[0]).toMatchObject({ field: "Kule-Organisation", code: "required" });
    const unknown = await world.operator.get("/ssh-keys", {
      "Kule-Organisation": absentKey.replace("key", "org"),
    });
    expect(unknown.body.errors[0]).toMatchObject({ field: "Kule-Organisation", code: "not_found" });
    const named = await world.operator.get("/ssh-keys", { "Kule-Organisation": other.id });
    expect(named.body.items.map((key: { name: string }) => key.name)).toEqual(["foreign"]);
  });

  test("members cannot use the operators' operations", async () => {
    const answer = await acme.owner.post("/organisations", { slug: "mine", name: "Mine" });
    expect(answer.status).toBe(403);
    expect(answer.body.required).toEqual(["operator:organisations"]);
  });
});

describe("a wrong request", () => {
  test("lists every offending field: the contract's findings and the product's together", async () => {
    const answer = await acme.owner.post("/ssh-keys", {
      name: "",
      public_key: "ssh-dss AAAA",
      labels: { "not a key!": "x" },
      colour: "red",
    });
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe("validation_failed");
    expect(
      answer.body.errors.map((error: { field: string; code: string }) => [error.field, error.code]),
    ).toEqual(
      expect.arrayContaining([
        ["name", "too_short"],
        ["public_key", "invalid_format"],
        ["labels.not a key!", "invalid_format"],
        ["colour", "unknown_field"],
      ]),
    );
  });

  test("wrong parameters and headers are in the same list as wrong fields", async () => {
    const answer = await acme.owner.post(
      "/ssh-keys?limit=1",
      { name: "x" },
      { "Idempotency-Key": "with space" },
    );
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([
      "limit",
      "Idempotency-Key",
      "/public_key",
    ]);
  });

  test.each([
    ["no JSON", "{", 400, "malformed_json"],
    ["nothing", "", 400, "malformed_json"],
    ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), 400, "malformed_json"],
    ["endless nesting", "[".repeat(200_000), 400, "malformed_json"],
    ["a number", "1", 422, "validation_failed"],
    ["null", "null", 422, "validation_failed"],
    ["more than 1 MiB", `"${"x".repeat(1024 * 1024)}"`, 413, "payload_too_large"],
  ])("a body of %s is refused", async (_what, body, status, code) => {
    const answer = await acme.owner.post("/ssh-keys", body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test("a body that grows beyond 1 MiB while it is read is refused", async () => {
    const chunk = new Uint8Array(256 * 1024).fill(0x20);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1;
        if (sent > 100) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const response = await world.app.request("/api/v1/ssh-keys", {
      method: "POST",
      headers: { Authorization: `Bearer ${acme.owner.token}`, "Content-Type": "application/json" },
      body,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    expect(sent).toBeLessThan(20);
  });

  test("a body of another type is refused", async () => {
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    expect((await acme.owner.post("/ssh-keys", "name=x", form)).status).toBe(415);
    const withCharset = { "Content-Type": "application/json; charset=utf-8" };
    expect((await acme.owner.post("/ssh-keys", "{}", withCharset)).status).toBe(422);
  });

  test("text that no database can store is refused like any other wrong field", async () => {
    const answer = await acme.owner.post("/ssh-keys", '{"name":"a\\u0000b","public_key":"\\ud800"}');
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { field: string }) => error.field).sort()).toEqual([
      "name",
      "public_key",
    ]);
  });
});

describe("paths and methods", () => {
  test("an unknown path is 404, a known one under another method 405 with the methods it allows", async () => {
    expect((await acme.owner.get("/nothing")).status).toBe(404);
    const answer = await acme.owner.send("PUT", "/ssh-keys", {});
    expect([answer.status, answer.body.code]).toEqual([405, "method_not_allowed"]);
    expect(answer.headers.get("allow")?.split(", ").sort()).toEqual(["GET", "HEAD", "POST"]);
    expect((await acme.owner.send("DELETE", "/me")).status).toBe(405);
  });

  test("HEAD answers like GET without the body", async () => {
    const answer = await acme.owner.send("HEAD", "/ssh-keys");
    expect([answer.status, answer.body]).toEqual([200, null]);
    expect((await acme.owner.send("HEAD", "/auth/login")).status).toBe(405);
  });

  test("a caller's request id is returned if it can be logged, otherwise it gets one", async () => {
    const kept = await acme.owner.get("/me", { "X-Request-Id": "trace-1.2_3" });
    expect(kept.headers.get("x-request-id")).toBe("trace-1.2_3");
    const replaced = await acme.owner.get("/nothing", { "X-Request-Id": "two words" });
    expect(replaced.headers.get("x-request-id")).toMatch(/^req_[0-9a-z]{26}$/);
    expect(replaced.body.request_id).toBe(replaced.headers.get("x-request-id"));
  });

  test("the index leads to the contract without a token", async () => {
    const nobody = new ApiCaller(world.app, null);
    expect((await nobody.get("/")).body.links.openapi).toMatch(/\/openapi\.json$/);
    expect((await nobody.get("/openapi.json")).body.openapi).toBe("3.1.0");
    expect((await nobody.get("/healthz")).body).toEqual({ status: "ok" });
    expect((await nobody.get("/readyz")).body).toMatchObject({ missing: expect.any(Array) });
  });
});
