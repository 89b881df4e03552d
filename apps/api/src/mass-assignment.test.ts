import type { OperationId } from "@kule/contract/schemas";
import { allOperations } from "@kule/testing/contract/contract-schema";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { closedObjectsIn, foreignFields, isClosed } from "./testing/proofs/mass-assignment.ts";
import { callOperation, type RawAnswer } from "./testing/proofs/operation-call.ts";
import { recipes } from "./testing/proofs/recipes.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

const canary = "canary-that-nobody-may-store";
const withBody = allOperations().filter((info) => info.body !== null);

let all: TwoOrganisations;
beforeAll(async () => {
  all = await openTwoOrganisations(destroyNow);
});
afterAll(() => all?.close());

describe("fields that a body does not have", () => {
  it.each(withBody.filter((info) => isClosed(info.id)))(
    "are all refused by $id, each by its name",
    async (info) => {
      const fields = foreignFields(info.id);
      expect(fields.length).toBeGreaterThan(20);
      const answer = await call(info.id, Object.fromEntries(fields.map((name) => [name, canary])));
      expect(answer.status).toBe(422);
      const refused = errorsOf(answer).filter((error) => error.code === "unknown_field");
      expect(refused.map((error) => error.pointer).sort()).toEqual(fields.map((name) => `/${name}`).sort());
    },
  );

  it("are refused one by one, too: none is let through beside others only", async () => {
    for (const name of foreignFields("createServer")) {
      const answer = await call("createServer", { [name]: canary });
      expect([answer.status, errorsOf(answer).map((error) => error.pointer)], name).toEqual([
        422,
        [`/${name}`],
      ]);
    }
  });

  it("are refused inside of a body's objects", async () => {
    let tried = 0;
    for (const info of withBody)
      for (const name of closedObjectsIn(info.id)) {
        if (!isClosed(info.id)) continue;
        const answer = await call(info.id, { [name]: { organisation_id: canary } });
        expect(
          errorsOf(answer).map((error) => error.pointer),
          info.id,
        ).toContain(`/${name}/organisation_id`);
        tried += 1;
      }
    expect(tried).toBeGreaterThan(3);
  });

  it("come from newer agents and change nothing", async () => {
    const open = withBody.filter((info) => !isClosed(info.id));
    expect(open.map((info) => info.id).sort()).toEqual(["claimJob", "reportHealth", "reportStep"]);
    for (const info of open) {
      const fields = Object.fromEntries(foreignFields(info.id).map((name) => [name, canary]));
      const answer = await call(info.id, fields);
      expect(answer.status, info.id).toBeLessThan(300);
      expect(answer.text, info.id).not.toContain(canary);
    }
  });

  it("are in no column of no table afterwards", async () => {
    expect(await tablesWith(canary)).toEqual([]);
    // The search itself finds what is there.
    expect(await tablesWith(all.a.tenant.mark)).toEqual(
      expect.arrayContaining(["server", "network", "ssh_key"]),
    );
  });
});

async function call(operation: OperationId, more: object): Promise<RawAnswer> {
  const { world, a, regions } = all;
  const info = allOperations().find((candidate) => candidate.id === operation);
  const recipe = recipes[operation];
  const isOperators = info?.permission.startsWith("operator:") === true;
  const caller =
    info?.tag === "agent" ? regions.r1.agent : isOperators ? world.operator : a.tenant.callers.owner;
  return callOperation(caller, {
    operation,
    path: (await recipe.path?.(a, all)) ?? {},
    body: { ...(recipe.body?.(a, all) as object), ...more },
  });
}

function errorsOf(answer: RawAnswer): { pointer: string; code: string }[] {
  return (JSON.parse(answer.text) as { errors?: { pointer: string; code: string }[] }).errors ?? [];
}

async function tablesWith(text: string): Promise<string[]> {
  const owner = new pg.Client({ connectionString: all.world.database.ownerUrl });
  await owner.connect();
  try {
    const { rows: tables } = await owner.query(
      `select format('%I.%I', schemaname, tablename) as name, tablename from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const found: string[] = [];
    for (const { name, tablename } of tables) {
      const { rows } = await owner.query(`select 1 from ${name} t where strpos(t::text, $1) > 0 limit 1`, [
        text,
      ]);
      if (rows.length > 0) found.push(tablename);
    }
    return found;
  } finally {
    await owner.end();
  }
}
