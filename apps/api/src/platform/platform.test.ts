import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld } from "../testing/api-world.ts";

let world: ApiWorld;
beforeAll(async () => {
  world = await ApiWorld.open();
});
afterAll(() => world.close());

test("an operator token says that it is one", async () => {
  const me = await world.operator.get("/me");
  expect(me.status).toBe(200);
  expect(me.body).toMatchObject({ actor: "operator", organisation: null, role: null });
});

test("the index leads to the contract", async () => {
  const nobody = new ApiCaller(world.app, null);
  const index = await nobody.get("/");
  expect(index.status).toBe(200);
  expect((await nobody.get("/openapi.json")).body.openapi).toBe("3.1.0");
  expect((await nobody.get("/readyz")).status).toBe(200);
  expect((await nobody.get("/me")).status).toBe(401);
});
