import { operations } from "@kule/contract/generated/operations";
import { allPermissions, scopeCovers } from "@kule/rules/identity/permissions";
import { allOperations } from "@kule/testing/contract/contract-schema";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "./app.ts";
import { operation } from "./platform/operation.ts";
import { noContent, reply } from "./platform/reply.ts";
import { ApiCaller } from "./testing/api-caller.ts";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { isPermitted } from "./testing/proofs/isolation-matrix.ts";
import { type Actor, actorsOf } from "./testing/proofs/matrix-actors.ts";
import { standingPath } from "./testing/proofs/matrix-objects.ts";
import { callOperation } from "./testing/proofs/operation-call.ts";
import { recipes } from "./testing/proofs/recipes.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

let all: TwoOrganisations;
let actors: Actor[];
beforeAll(async () => {
  all = await openTwoOrganisations(destroyNow);
  actors = actorsOf(all);
});
afterAll(() => all?.close());

/** Calls it right, with objects of its own; signing out ends a session that nobody else needs. */
async function callAs(actor: Actor, id: (typeof operations)[keyof typeof operations]["id"], mayDo: boolean) {
  const info = operations[id];
  const recipe = recipes[id];
  const caller =
    id === "logout" && actor.name === "a console session in A"
      ? await all.a.tenant.signIn(all.world, await all.a.tenant.addMember("admin"))
      : actor.caller;
  const path = mayDo ? await recipe.path?.(actor.side, all) : undefined;
  return callOperation(caller, {
    operation: id,
    path: path ?? standingPath(info, actor.side, all),
    body: recipe.body?.(actor.side, all),
    headers:
      actor.kind === "operator" && info.headerParameters.includes("Kule-Organisation")
        ? { "Kule-Organisation": actor.side.tenant.id }
        : {},
  });
}

describe("every operation", () => {
  const callable = allOperations().filter((info) => info.id !== "login");

  it.each(callable)(
    "$id serves exactly the roles that have $permission",
    { timeout: 60_000 },
    async (info) => {
      for (const actor of actors) {
        const isPublic = info.permission === "public";
        const mayDo = isPublic || (actor.kind !== "nobody" && isPermitted(actor, { operation: info.id }));
        const answer = await callAs(actor, info.id, mayDo);
        const where = `${info.id} as ${actor.name}: ${answer.text.slice(0, 300)}`;
        if (actor.kind === "nobody" && !isPublic) expect(answer.status, where).toBe(401);
        else if (!mayDo) {
          expect(answer.status, where).toBe(403);
          expect(JSON.parse(answer.text).required, where).toEqual([info.permission]);
        } else if (info.id === "logout" && actor.name !== "a console session in A")
          expect(answer.status, where).toBe(409);
        else expect(answer.status, where).toBeLessThan(300);
      }
    },
  );

  it("that changes something is closed to viewers and to billing", () => {
    for (const info of callable) {
      if (info.audit === null || info.permission === "authenticated") continue;
      for (const actor of actors)
        if (/viewer|billing/.test(actor.name))
          expect(isPermitted(actor, { operation: info.id }), info.id).toBe(false);
    }
  });

  it("asks for a permission that somebody has, and every permission opens some operation", () => {
    const asked = new Set(callable.map((info) => info.permission));
    for (const permission of asked)
      if (permission !== "public" && permission !== "authenticated")
        expect(allPermissions(), permission).toContain(permission);
    for (const permission of allPermissions()) expect([...asked], permission).toContain(permission);
  });

  it.each([["server:read"], ["*:read"], ["network:*"], ["ssh_key:create"]])(
    "opens to a token of scope %s only as far as that",
    { timeout: 60_000 },
    async (scope) => {
      const caller = await all.world.addToken(all.a.tenant.id, "owner", [scope]);
      const owner = actors.find((actor) => actor.name === "owner of A");
      if (owner === undefined) throw new Error("no owner");
      const scoped: Actor = { ...owner, caller };
      for (const info of callable) {
        if (info.permission === "public" || info.permission === "authenticated") continue;
        const mayDo = owner.permissions.has(info.permission) && scopeCovers(scope, info.permission);
        const answer = await callAs(scoped, info.id, mayDo);
        if (mayDo) expect(answer.status, info.id).toBeLessThan(300);
        else expect(answer.status, info.id).toBe(403);
      }
    },
  );
});

describe("in a test build", () => {
  it("a route that checked nobody's rights is an error, whatever it answers", async () => {
    const app = createApp(all.world.replica.deps);
    app.get("/api/v1/back-door", (context) => context.json({ ok: true }));
    expect((await app.request("/api/v1/back-door")).status).toBe(500);
    const production = createApp({
      ...all.world.replica.deps,
      settings: { ...all.world.replica.deps.settings, testBuild: false },
    });
    production.get("/api/v1/back-door", (context) => context.json({ ok: true }));
    expect((await production.request("/api/v1/back-door")).status).toBe(200);
  });

  it("a change that left no audit row is an error", async () => {
    const hono = new Hono();
    operation({ hono, deps: all.world.replica.deps }, "deleteSshKey", {
      find: async () => ({}),
      handle: async () => noContent(),
    });
    const caller = new ApiCaller(
      { request: (path: string, init) => hono.request(path.replace("/api/v1", ""), init) } as Hono,
      all.a.tenant.owner.token,
    );
    expect((await caller.delete("/ssh-keys/key_1")).status).toBe(500);
  });

  it("an answer that shows more than the contract says is an error", async () => {
    const hono = new Hono();
    operation({ hono, deps: all.world.replica.deps }, "getMe", {
      handle: async (request) => reply(200, { organisation: request.organisationOrNull, secret: "x" }),
    });
    const answer = await hono.request("/me", {
      headers: { Authorization: `Bearer ${all.a.tenant.owner.token}` },
    });
    expect(answer.status).toBe(500);
  });
});
