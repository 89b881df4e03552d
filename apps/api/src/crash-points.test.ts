import { operations } from "@kule/contract/generated/operations";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "./app.ts";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { mutationCases } from "./testing/proofs/mutation-cases.ts";
import { callOperation } from "./testing/proofs/operation-call.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";
import { tasksOf } from "./worker/run.ts";

/** Writes with one statement, which Postgres executes completely or not at all. */
const withoutTransaction = new Set<string>(["reportHealth"]);

describe("crash points", () => {
  let all: TwoOrganisations;
  beforeAll(async () => {
    all = await openTwoOrganisations(destroyNow);
  }, 60_000);
  afterAll(() => all?.close());

  it.each(mutationCases())("$name passes every boundary at which it can be cut off", async (each) => {
    const passed: string[] = [];
    const call = await each.prepare(all.a, all);
    const app = createApp({ ...all.world.replica.deps, crash: (name) => void passed.push(name) });
    const answer = await callOperation(call.caller.at(app), call);
    expect(answer.status, answer.text).toBeLessThan(300);
    const audited = operations[each.operation].audit !== null;
    const points = passed.map((name) => name.slice(`api.${each.operation}.`.length));
    expect(points.at(0)).toBe("before-begin");
    expect(points.at(-1)).toBe("done");
    if (!withoutTransaction.has(each.name))
      expect(points).toEqual(expect.arrayContaining(["before-commit", "committed"]));
    if (audited) expect(points).toContain("written");
    const queues = /"job":\{[^}]*"status":"queued"/.test(answer.text);
    if (queues) expect(points).toEqual(expect.arrayContaining(["allocated", "job-written", "queued"]));
  });

  it("are passed by every task of the worker", async () => {
    const passed: string[] = [];
    const tasks = tasksOf({ ...all.world.replica.deps, crash: (name) => void passed.push(name) });
    const server = await all.a.tenant.addPendingServer({ subnet_id: all.a.standing.subnet });
    await all.world.replica.deps.db
      .updateTable("server")
      .set({ purge_at: new Date(0) })
      .where("organisation_id", "=", all.a.tenant.id)
      .where("id", "=", server)
      .execute();
    const owner = new pg.Pool({ connectionString: all.world.database.ownerUrl, max: 1 });
    const helpers = {
      withPgClient: async (work: (client: pg.PoolClient) => Promise<unknown>) => {
        const client = await owner.connect();
        return work(client).finally(() => client.release());
      },
    } as never;
    for (const [name, task] of Object.entries(tasks)) {
      passed.length = 0;
      await task?.({ organisation_id: all.a.tenant.id, server_id: server }, helpers);
      expect(passed.at(0)).toBe(`worker.${name}.before-begin`);
      expect(passed.at(-1)).toBe(`worker.${name}.done`);
      if (name === "expire_removal_buffer")
        expect(passed.map((point) => point.split(".").at(-1))).toEqual([
          "before-begin",
          "allocated",
          "job-written",
          "queued",
          "before-commit",
          "committed",
          "done",
        ]);
    }
    await owner.end();
  });
});
