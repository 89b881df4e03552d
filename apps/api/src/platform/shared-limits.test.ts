import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueToken } from "../products/tokens/index.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { openedSession } from "../testing/as-owner.ts";
import { ConsoleWorld } from "../testing/console-world.ts";
import type { ServerWorld } from "../testing/server-world.ts";
import { wireCostsOf } from "../testing/wire-costs.ts";
import { newId } from "./ids.ts";

const tight = {
  rateLimitPerHour: 36,
  rateLimitBurst: 6,
  organisationLimitPerHour: 36,
  organisationLimitBurst: 10,
};

let consoles: ConsoleWorld;
let world: ServerWorld;
beforeAll(async () => {
  consoles = await ConsoleWorld.open();
  world = consoles.servers;
});
afterAll(() => consoles?.close());

/** A member, and callers that act for them. */
async function addPerson(organisation = world.organisation) {
  const userId = newId("usr");
  const email = `${userId}@example.org`;
  await world.rows(
    "insert into app_user (id, email, name, password_hash, is_operator) values ($1, $2, 'P', 'none', false)",
    [userId, email],
  );
  await world.rows("insert into member (id, organisation_id, user_id, role) values ($1, $2, $3, 'member')", [
    newId("mem"),
    organisation.id,
    userId,
  ]);
  const about = { organisationId: organisation.id, userId, lifetimeSeconds: 3_600, name: "a person's" };
  const mint = async (more: Parameters<typeof issueToken>[1]) =>
    new ApiCaller(world.world.app, (await issueToken(world.world.replica.deps.db, more)).secret);
  return {
    session: async () =>
      new ApiCaller(world.world.app, (await openedSession(world.world.database.ownerUrl, about)).secret),
    token: () => mint({ ...about, kind: "organisation", role: "member" }),
  };
}

async function statuses(callers: readonly ApiCaller[], calls: number): Promise<number[]> {
  const all: number[] = [];
  for (let call = 0; call < calls; call += 1)
    all.push((await callers[call % callers.length]?.get("/me"))?.status ?? 0);
  return all;
}

const counted = (all: readonly number[]) => [
  all.filter((status) => status === 200).length,
  all.filter((status) => status === 429).length,
];

describe("calls", () => {
  test("of one person are counted together, however often they sign in and however many tokens they mint", async () => {
    const { app } = await world.world.addReplica(tight);
    const person = await addPerson();
    const callers = [
      await person.session(),
      await person.session(),
      await person.token(),
      await person.token(),
    ];
    expect(
      counted(
        await statuses(
          callers.map((each) => each.at(app)),
          12,
        ),
      ),
    ).toEqual([6, 6]);
    const other = await (await addPerson()).session();
    expect((await other.at(app).get("/me")).status).toBe(200);
  });

  test("of an organisation's own tokens are counted together", async () => {
    const { app } = await world.world.addReplica(tight);
    const umbrella = await world.world.addOrganisation("umbrella");
    const tokens = [umbrella.owner, await world.world.addToken(umbrella.id, "viewer")];
    expect(
      counted(
        await statuses(
          tokens.map((each) => each.at(app)),
          10,
        ),
      ),
    ).toEqual([6, 4]);
  });

  test("of all people of an organisation have a limit too, which does not affect another organisation", async () => {
    const { app } = await world.world.addReplica(tight);
    const many = await world.world.addOrganisation("many");
    const callers = [];
    for (let each = 0; each < 3; each += 1) callers.push((await (await addPerson(many)).session()).at(app));
    expect(counted(await statuses(callers, 15))).toEqual([10, 5]);
    const refused = await callers[0]?.get("/me");
    expect(refused?.headers.get("RateLimit-Remaining")).toBe("0");
    expect(Number(refused?.headers.get("Retry-After"))).toBeGreaterThan(10);
    expect((await world.owned.at(app).get("/me")).status).toBe(200);
    expect((await world.world.operator.at(app).get("/me")).status).toBe(200);
  });
});

describe("a websocket request", () => {
  const ask = (url: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request(url, { headers: { ...upgrade, ...headers } });
      asked.once("response", (response) => {
        resolve(response.statusCode);
        response.resume();
      });
      asked.once("upgrade", (response, socket) => {
        resolve(response.statusCode);
        socket.destroy();
      });
      asked.once("error", reject);
      asked.end();
    });
  const upgrade = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  };

  test("is counted by address before any ticket or token is checked", async () => {
    const tightOne = await ConsoleWorld.open({ rateLimitPerHour: 36, rateLimitBurst: 4 });
    try {
      const { origin } = tightOne.one;
      const wrong = {
        "Sec-WebSocket-Protocol": `kule.console.serial.v1, kule.ticket.${"a".repeat(43)}`,
      };
      const guess = () => ask(`${origin}/api/v1/servers/${newId("srv")}/console/${newId("con")}`, wrong);
      const guesses = [];
      for (let each = 0; each < 6; each += 1) guesses.push(await guess());
      expect(guesses).toEqual([401, 401, 401, 401, 429, 429]);
      const { statements } = await wireCostsOf(async () => expect(await guess()).toBe(429));
      expect(statements, "statements of a refused upgrade").toBe(0);
      const asAgent = () =>
        ask(`${origin}/api/v1/agent/consoles/${newId("con")}`, { Authorization: "Bearer kule_agent_none" });
      const agents = [];
      for (let each = 0; each < 42; each += 1) agents.push(await asAgent());
      expect(agents.filter((status) => status === 401)).toHaveLength(40);
      expect(agents.filter((status) => status === 429)).toHaveLength(2);
    } finally {
      await tightOne.close();
    }
  });
});

describe("event streams", () => {
  test("are limited for a person, and one that ends frees a place", async () => {
    const person = await addPerson();
    const callers = [await person.session(), await person.token()];
    const { job } = await world.create();
    const open = async (index: number, method = "GET") => {
      const leaving = new AbortController();
      const response = await world.world.app.request(`/api/v1/jobs/${job.id}/events`, {
        method,
        headers: { Authorization: `Bearer ${callers[index % callers.length]?.token}` },
        signal: leaving.signal,
      });
      return { response, leaving };
    };
    for (let head = 0; head < 60; head += 1) expect((await open(head, "HEAD")).response.status).toBe(200);
    const streams = [];
    for (let index = 0; index < 50; index += 1) streams.push(await open(index));
    expect(streams.map(({ response }) => response.status)).toEqual(Array(50).fill(200));
    const refused = await open(0);
    expect(refused.response.status).toBe(429);
    expect(refused.response.headers.get("Retry-After")).toBe("5");

    const [first, ...others] = streams;
    first?.leaving.abort();
    await first?.response.body?.cancel();
    let again = await open(1);
    while (again.response.status === 429) again = await open(1);
    expect(again.response.status).toBe(200);
    for (const each of [again, ...others]) {
      each.leaving.abort();
      await each.response.body?.cancel();
    }
  });
});
