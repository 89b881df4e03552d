import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BadSettings, readSettings } from "../../platform/settings.ts";
import { withChecksum } from "../../platform/tokens.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let database: Client;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  await world.addRegion("ist1");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await world.close();
});

const nobody = () => new ApiCaller(world.app, null);
const redeem = (secret: string, at = nobody()) => at.post("/agent/enrolment", { secret, name: "agent-1" });

async function newCode(): Promise<string> {
  const created = await world.operator.post("/regions/ist1/enrolments");
  expect(created.status).toBe(201);
  return created.body.code as string;
}

test("a code gives one agent a token of its region, once", async () => {
  const { body } = await world.operator.post("/regions/ist1/enrolments");
  expect(body).toMatchObject({
    region: "ist1",
    api_url: expect.stringMatching(/\/api\/v1$/),
    code: expect.stringMatching(/^kule_enr_\w+$/),
  });
  expect(Math.round((Date.parse(body.expires_at) - Date.now()) / 60_000)).toBe(15);
  const enrolled = await redeem(body.code);
  expect(enrolled).toMatchObject({ status: 201, body: { region: "ist1", token: { name: "agent-1" } } });
  const me = await new ApiCaller(world.app, enrolled.body.secret).get("/me");
  expect(me.body).toMatchObject({ actor: "agent", region: "ist1" });
  expect((await redeem(body.code)).status).toBe(422);
});

test("of two agents with one code at the same time one is enrolled", async () => {
  const code = await newCode();
  const answers = await Promise.all([redeem(code), redeem(code), redeem(code)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
});

test("invented, used and expired codes are answered alike", async () => {
  const used = await newCode();
  await redeem(used);
  const expired = await newCode();
  await database.query("update region_enrolment set expires_at = now() where used_at is null");
  // Of a code that is still good, but for its secret.
  const good = await newCode();
  const invented = withChecksum(`${good.slice(0, -7)}${good.at(-7) === "a" ? "b" : "a"}`);
  const mistyped = `${good.slice(0, -1)}${good.endsWith("0") ? "1" : "0"}`;
  const answers = await Promise.all([used, expired, invented, mistyped, "x"].map((code) => redeem(code)));
  for (const { status, body } of answers) {
    const { request_id: _, ...problem } = body;
    const { request_id: __, ...first } = answers[0]?.body ?? {};
    expect([status, problem]).toEqual([422, first]);
  }
});

test("a code is stored as a hash, and no trail holds it", async () => {
  const code = await newCode();
  const enrolled = await redeem(code);
  const { rows } = await database.query(
    "select e::text as row from region_enrolment e union all select a::text from audit a union all select k::text from idempotency_key k",
  );
  for (const secret of [code, enrolled.body.secret]) expect(JSON.stringify(rows)).not.toContain(secret);
  const trail = await database.query(
    "select action, outcome, actor_type, resource from audit where action like 'enrolment.%' order by at desc limit 2",
  );
  expect(trail.rows).toEqual([
    {
      action: "enrolment.redeem",
      outcome: "succeeded",
      actor_type: "anonymous",
      resource: enrolled.body.token.id,
    },
    { action: "enrolment.create", outcome: "succeeded", actor_type: expect.any(String), resource: "ist1" },
  ]);
});

test("only operators create codes, and none for a region without agents", async () => {
  expect((await acme.owner.post("/regions/ist1/enrolments")).status).toBe(403);
  expect((await nobody().post("/regions/ist1/enrolments")).status).toBe(401);
  expect((await world.operator.post("/regions/nowhere/enrolments")).status).toBe(404);
  await world.addRegion("odd");
  await database.query("update region set mode = 'direct' where slug = 'odd'");
  expect(await world.operator.post("/regions/odd/enrolments")).toMatchObject({
    status: 409,
    body: { precondition: { name: "region_has_agent" } },
  });
});

test("a repeated request is answered without the code", async () => {
  const key = { "Idempotency-Key": "one-enrolment-only" };
  const first = await world.operator.post("/regions/ist1/enrolments", undefined, key);
  const again = await world.operator.post("/regions/ist1/enrolments", undefined, key);
  expect(again.body).toEqual({ ...first.body, code: null, secret_withheld: true });
});

test("whoever tries codes is slowed down by their address", async () => {
  const { app } = await world.addReplica({ rateLimitBurst: 3, rateLimitPerHour: 3 });
  const stranger = new ApiCaller(app, null);
  const statuses: number[] = [];
  for (let tries = 0; tries < 5; tries++) statuses.push((await redeem("x", stranger)).status);
  expect(statuses).toEqual([422, 422, 422, 429, 429]);
});

test("an installation with an authority of its own shows it, and its codes name it", async () => {
  expect((await nobody().get("/agent/enrolment")).body).toEqual({ certificate: null });
  const publicAuthority = { certificate: "-----BEGIN CERTIFICATE-----\n", sha256: "A".repeat(43) };
  const { app } = await world.addReplica({ publicAuthority });
  const { body } = await world.operator.at(app).post("/regions/ist1/enrolments");
  expect(body.code).toMatch(/^kule_enr_\w+\.A{43}$/);
  expect((await nobody().at(app).get("/agent/enrolment")).body).toEqual({
    certificate: publicAuthority.certificate,
  });
  expect((await redeem(body.code.split(".")[0])).status).toBe(201);
});

test("a file that is no authority's certificate prevents the API's start", () => {
  const folder = mkdtempSync(join(tmpdir(), "kule-authority-"));
  const path = join(folder, "ca.pem");
  writeFileSync(path, "not a certificate");
  const start = () => readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_PUBLIC_CA_FILE: path });
  expect(start).toThrow(BadSettings);
  expect(start).toThrow(/KULE_PUBLIC_CA_FILE: .*ca\.pem holds no certificate/);
  rmSync(folder, { recursive: true });
});
