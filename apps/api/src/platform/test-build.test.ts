import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../app.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, openReplica, type Replica } from "../testing/api-world.ts";
import type { Api } from "./deps.ts";
import { operation } from "./operation.ts";
import { noContent, reply } from "./reply.ts";

let world: ApiWorld;
let replica: Replica;
let callerOf: (app: Replica["app"]) => ApiCaller;

beforeAll(async () => {
  world = await ApiWorld.open();
  replica = await openReplica(world.database);
  callerOf = (app) => new ApiCaller(app, world.operator.token);
});
afterAll(async () => {
  await replica.close();
  await world.close();
});

/** An app of its own, to which a test adds forbidden handlers. */
function appWith(mount: (api: Api) => void): Replica["app"] {
  const app = createApp(replica.deps);
  mount({ hono: app.basePath("/api/v1/odd") as Api["hono"], deps: replica.deps });
  return app;
}

test("a route without an authorisation check fails in test builds", async () => {
  const app = appWith(({ hono }) => hono.get("/open", (context) => context.text("anybody can read this")));
  expect((await callerOf(app).get("/odd/open")).status).toBe(500);
});

test("a mutation that left no audit row fails in test builds", async () => {
  const app = appWith((api) => operation(api, "createOrganisation", { handle: async () => noContent() }));
  const answer = await callerOf(app).post("/odd/organisations", { slug: "x", name: "x" });
  expect(answer.status).toBe(500);
});

test("an answer that does not fit the contract fails in test builds", async () => {
  const app = appWith((api) =>
    operation(api, "getMe", { handle: async () => reply(200, { hello: "world" }) }),
  );
  expect((await callerOf(app).get("/odd/me")).status).toBe(500);
});

test("a bug shows nothing but its request id", async () => {
  const app = appWith((api) =>
    operation(api, "getMe", {
      handle: async () => {
        throw new Error("secret of the house: swordfish");
      },
    }),
  );
  const answer = await callerOf(app).get("/odd/me");
  expect(answer.status).toBe(500);
  expect(answer.body).toEqual({
    type: "https://kule.dev/errors/internal_error",
    title: "Internal error",
    status: 500,
    code: "internal_error",
    detail: "something went wrong on our side; the request id helps to find it",
    instance: "/api/v1/odd/me",
    request_id: answer.headers.get("x-request-id"),
  });
});
