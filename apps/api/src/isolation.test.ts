import { operations } from "@kule/contract/generated/operations";
import { TENANT_TABLES } from "@kule/database/migrations/0004-rights";
import { worldCheck } from "@kule/testing/world-check/world-check";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newId } from "./platform/ids.ts";
import { ApiCaller } from "./testing/api-caller.ts";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { runIsolationMatrix } from "./testing/proofs/isolation-matrix.ts";
import { type Actor, actorsOf } from "./testing/proofs/matrix-actors.ts";
import { type Defences, type MutantApp, openMutantApp } from "./testing/proofs/mutant-app.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

let all: TwoOrganisations;
beforeAll(async () => {
  all = await openTwoOrganisations(destroyNow);
});
afterAll(() => all?.close());

describe("two organisations in one installation", () => {
  it("see nothing of each other, in any operation, at any place that can name a resource", {
    timeout: 300_000,
  }, async () => {
    const report = await runIsolationMatrix(all, { actors: actorsOf(all) });
    console.info(`isolation: ${report.cellsRun} of ${report.cellsInSpec} cells run`);
    expect(report.unsorted).toEqual([]);
    expect(report.failures.slice(0, 40)).toEqual([]);
    expect(report.cellsRun).toBe(report.cellsInSpec);
    expect(report.cellsRun).toBeGreaterThan(5000);
    expect(await worldCheck({ ownerUrl: all.world.database.ownerUrl })).toEqual([]);
  });

  it("cannot tell from any list, filter or count that the other has grown", async () => {
    const { a, b } = all;
    const paths = Object.values(operations)
      .filter((info) => info.method === "get" && info.headerParameters.includes("Kule-Organisation"))
      .filter((info) => info.id.startsWith("list") || info.id === "getNetwork" || info.id === "getSubnet")
      .map((info) =>
        info.path.replace("{network_id}", a.standing.network).replace("{subnet_id}", a.standing.subnet),
      )
      .flatMap((path) => [path, `${path}?limit=200`, `${path}?name=${b.tenant.mark}-1`])
      .filter((path) => !/\/(net|sub)_\w+\?/.test(path));
    const look = async () => {
      const seen: Record<string, unknown> = {};
      for (const path of paths) seen[path] = (await a.tenant.callers.admin.get(path)).body;
      for (const of of [a, b])
        seen[`labelled ${of.tenant.slug}`] = (
          await a.tenant.owner.get(`/servers?label_selector=of%3D${of.tenant.mark}&limit=200`)
        ).body;
      return JSON.parse(JSON.stringify(seen).replaceAll(/"(last_used_at|request_id)":"[^"]*"/g, '"$1":""'));
    };
    const before = await look();
    await b.tenant.addSshKey();
    await b.tenant.addSubnet(await b.tenant.addNetwork());
    await b.tenant.addRunningServer({ subnet_id: b.standing.subnet });
    await b.tenant.addMember();
    await b.tenant.addToken();
    expect(await look()).toEqual(before);
    expect(paths.length).toBeGreaterThan(15);
    expect(before["/servers"].items.length).toBeGreaterThan(0);
    expect(before["labelled orgb"].items).toEqual([]);
  });

  it("give a login the same answer for an organisation of others as for none", async () => {
    const nobody = new ApiCaller(all.world.app, null);
    const login = async (organisationId: string) => {
      const { email, password } = await all.a.tenant.addMember();
      const answer = await nobody.post("/auth/login", { email, password, organisation_id: organisationId });
      return { ...answer, body: { ...answer.body, request_id: "" } };
    };
    expect((await login(all.a.tenant.id)).body.organisation.id).toBe(all.a.tenant.id);
    const absent = await login(newId("org"));
    expect(absent.status).toBe(422);
    for (const id of [all.b.tenant.id, "org_../..", "x"]) expect((await login(id)).body).toEqual(absent.body);
  });

  it("reach no single resource with an empty identifier", async () => {
    for (const info of Object.values(operations)) {
      const last = info.pathParameters.at(-1);
      if (last === undefined || !info.path.endsWith(`{${last}}`) || info.method === "get") continue;
      const path = info.path
        .replace(`{${last}}`, "")
        .replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
          name === "region" ? "r1" : all.a.standing.network,
        );
      const answer = await all.a.tenant.owner.send(info.method.toUpperCase(), path);
      expect([404, 405], `${info.method} ${path}`).toContain(answer.status);
    }
  });
});

describe("of the two lines between organisations", () => {
  const open: MutantApp[] = [];
  afterEach(async () => {
    for (const mutant of open.splice(0)) await mutant.close();
  });
  const without = async (defences: Defences) => {
    const mutant = await openMutantApp(all.world, defences);
    open.push(mutant);
    const actors = actorsOf(all).map((actor): Actor => ({ ...actor, caller: actor.caller.at(mutant.app) }));
    return { mutant, actors };
  };
  const named = (actors: readonly Actor[], ...names: string[]) =>
    actors.filter((actor) => names.includes(actor.name));

  it("the filter in each query stands alone: the matrix passes without row-level security", {
    timeout: 120_000,
  }, async () => {
    const { actors } = await without({ filters: true, rowLevelSecurity: false });
    const report = await runIsolationMatrix(all, {
      actors: named(actors, "admin of A", "member of B", "the agent of A's region"),
    });
    expect(report.failures.slice(0, 40)).toEqual([]);
    expect(report.cellsRun).toBeGreaterThan(1000);
  });

  it("row-level security stands alone in mutations: without any filter nothing of others is changed", {
    timeout: 120_000,
  }, async () => {
    const { mutant, actors } = await without({ filters: false, rowLevelSecurity: true });
    const before = await rowsOf(all.b.tenant.id);
    await runIsolationMatrix(all, {
      actors: named(actors, "admin of A"),
      place: (place) => operations[place.operation].audit !== null && place.kind !== "token",
      state: (state) => state.name.startsWith("foreign"),
    });
    expect(mutant.stripped()).toBeGreaterThan(20);
    expect(await rowsOf(all.b.tenant.id)).toEqual(before);
  });

  // The last one, since it lets the organisations change each other.
  it("the matrix misses neither: without both it finds every kind of resource open", {
    timeout: 120_000,
  }, async () => {
    const { mutant, actors } = await without({ filters: false, rowLevelSecurity: false });
    const report = await runIsolationMatrix(all, {
      actors: named(actors, "admin of A", "viewer of A"),
      state: (state) => state.name.startsWith("foreign"),
    });
    expect(mutant.stripped()).toBeGreaterThan(100);
    expect([...report.failedKinds]).toEqual(
      expect.arrayContaining([
        "member",
        "token",
        "ssh_key",
        "network",
        "subnet",
        "server",
        "job",
        "resource",
      ]),
    );
    console.info(
      `isolation: without the filters ${report.failures.length} findings, in ${[...report.failedKinds].join(", ")}`,
    );
  });
});

/** Every row of the organisation, in text. */
async function rowsOf(organisationId: string): Promise<Record<string, string[]>> {
  const owner = new pg.Client({ connectionString: all.world.database.ownerUrl });
  await owner.connect();
  try {
    const rows: Record<string, string[]> = {};
    for (const table of TENANT_TABLES) {
      const found = await owner.query(
        `select t::text as row from ${table} t where organisation_id = $1 order by 1`,
        [organisationId],
      );
      rows[table] = found.rows.map((row) => row.row);
    }
    return rows;
  } finally {
    await owner.end();
  }
}
