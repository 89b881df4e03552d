import { Hono } from "hono";
import { createApp } from "../../app.ts";
import { operation } from "../../platform/operation.ts";
import { noContent, reply } from "../../platform/reply.ts";
import type { Findings } from "./isolation-answers.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

/** What a test build must turn into an error, so that no route can be added past its checks. */
export async function testBuildFindings(all: TwoOrganisations): Promise<Findings> {
  const { deps } = all.world.replica;
  const headers = { Authorization: `Bearer ${all.a.tenant.owner.token}` };
  const violations: string[] = [];
  const expect = (status: number, wanted: number, what: string) => {
    if (status !== wanted) violations.push(`${what} answered ${status} and not ${wanted}`);
  };

  const app = createApp(deps);
  app.get("/api/v1/back-door", (context) => context.json({ ok: true }));
  expect((await app.request("/api/v1/back-door")).status, 500, "a route without an authorisation check");
  const production = createApp({ ...deps, settings: { ...deps.settings, testBuild: false } });
  production.get("/api/v1/back-door", (context) => context.json({ ok: true }));
  expect((await production.request("/api/v1/back-door")).status, 200, "the same route in production");

  const silent = new Hono();
  operation({ hono: silent, deps }, "deleteSshKey", {
    find: async () => ({}),
    handle: async () => noContent(),
  });
  const deleted = await silent.request("/ssh-keys/key_1", { method: "DELETE", headers });
  expect(deleted.status, 500, "a change without an audit row");

  const talkative = new Hono();
  operation({ hono: talkative, deps }, "getMe", {
    handle: async (request) => reply(200, { organisation: request.organisationOrNull, secret: "x" }),
  });
  expect((await talkative.request("/me", { headers })).status, 500, "an answer with a field too many");
  return { cases: 4, violations };
}
