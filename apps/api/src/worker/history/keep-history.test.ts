import { findViolations } from "@kule/invariants/find-violations";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newId } from "../../platform/ids.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { type AuditKeys, readAuditKeys } from "../audit-seals/audit-keys.ts";
import { sealAll, verifyAudit } from "../audit-seals/verify-audit.ts";
import { keepHistory } from "./keep-history.ts";

const keysOf = (text: string): AuditKeys => {
  const keys = readAuditKeys({ KULE_AUDIT_KEYS: text });
  if (keys === null) throw new Error("no keys");
  return keys;
};
const keys = keysOf(`k1:${"a".repeat(32)}`);

let world: ServerWorld;
let owner: Client;
let worker: Client;
beforeAll(async () => {
  world = await ServerWorld.open();
  owner = new Client({ connectionString: world.world.database.ownerUrl });
  worker = new Client({ connectionString: world.world.database.workerUrl });
  await Promise.all([owner.connect(), worker.connect()]);
});
afterAll(async () => {
  await Promise.all([owner.end(), worker.end()]);
  await world.close();
});

type Table = "job_step" | "audit";
type Days = { readonly steps?: number; readonly audit?: number };
const keep = ({ steps, audit }: Days = {}, with_: AuditKeys | null = keys) => {
  const { deps } = world.world.replica;
  const settings = { ...deps.settings, keepJobStepsDays: steps ?? null, keepAuditDays: audit ?? null };
  return keepHistory({ ...deps, settings }, worker, with_);
};

/** Months before (negative) or after the present one. */
const inMonths = (months: number) =>
  `date_trunc('month', now() at time zone 'UTC') + interval '${months} months'`;
const partsOf = async (table: Table): Promise<string[]> =>
  (
    await owner.query(
      `select c.relname from pg_inherits join pg_class c on c.oid = inhrelid
        where inhparent = $1::regclass order by (c.relname like '%later'), (c.relname not like '%earlier'), 1`,
      [table],
    )
  ).rows.map(({ relname }) => relname.slice(table.length + 1));
const monthName = async (months: number): Promise<string> =>
  (await owner.query(`select to_char(${inMonths(months)}, 'YYYY_MM') as name`)).rows[0].name;

/** As if the installation had been made so many months ago, and its worker had stopped after its last month. */
async function haveMonths(table: Table, first: number, last: number): Promise<void> {
  const bound = (month: number) => `kule_history_bound('${table}', (${inMonths(month)})::date)`;
  const months = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const added = months.map(
    (month) =>
      `perform kule_history_add('${table}', to_char(${inMonths(month)}, 'YYYY_MM'), ${bound(month)}, ${bound(month + 1)});`,
  );
  await owner.query(`do $$ declare each regclass; begin
    truncate audit, audit_seal, audit_seal_head, audit_seal_start, audit_break, job_step;
    for each in select inhrelid from pg_inherits where inhparent = '${table}'::regclass loop
      execute 'drop table ' || each;
    end loop;
    perform kule_history_add('${table}', 'earlier', null, ${bound(first)});
    ${added.join("\n")}
    perform kule_history_add('${table}', 'later', ${bound(last + 1)}, null);
  end $$`);
}

/** An entry, so many months from now; with the seconds within the month that it is written in. */
async function entry(months: number, seconds = 0): Promise<string> {
  const id = newId("aud");
  await owner.query(
    `insert into audit (id, at, organisation_id, actor_type, action, outcome, http_status, request_id)
     values ($1, (${inMonths(months)} + make_interval(secs => $3)) at time zone 'UTC', $2, 'user', 'server.update',
             'succeeded', 200, 'req_x')`,
    [id, world.organisation.id, seconds],
  );
  return id;
}

/** A job that was created so many months ago, with one step. */
async function job(months: number, status: string, endedMonths = months): Promise<string> {
  // Without the server of an open job.
  await owner.query("set session_replication_role = replica");
  const { rows } = await owner.query(
    `insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, requested_by, request_id,
                      epoch, attempt, created_at, finished_at)
     select id, $1, $2, 'ServerPower', 'server', 'srv_' || id, $3, '{"type":"system","id":null,"name":"test"}', 'req_x', 1, 1, ${inMonths(months)},
            case when $3 <> 'queued' then ${inMonths(endedMonths)} + interval '1 day' end
       from (select kule_first_id('job', (${inMonths(months)} + interval '1 hour') at time zone 'UTC')
                    || substr(md5(random()::text), 1, 16) as id) made returning id`,
    [world.organisation.id, world.region, status],
  );
  await owner.query("reset session_replication_role");
  await step(rows[0].id, 1);
  return rows[0].id;
}
const step = (id: string, seq: number) =>
  owner.query(
    `insert into job_step (job_id, organisation_id, epoch, seq, attempt, phase, name, status, finished_at)
     values ($1, $2, 1, $3, 1, 'apply', 'clone', 'succeeded', now())`,
    [id, world.organisation.id, seq],
  );
const stepsOf = async (id: string) =>
  (await owner.query("select from job_step where job_id = $1", [id])).rowCount;
const placeOf = async (table: Table, column: string, id: string) =>
  (await owner.query(`select tableoid::regclass::text as place from ${table} where ${column} = $1`, [id]))
    .rows[0]?.place;

describe("months", () => {
  test("of the present and the next three are there from the beginning, and another is added when one has passed", async () => {
    for (const table of ["job_step", "audit"] as const) {
      const months = await Promise.all([0, 1, 2, 3].map(monthName));
      expect(await partsOf(table)).toEqual(["earlier", ...months, "later"]);
    }
    for (const table of ["job_step", "audit"] as const) await haveMonths(table, -1, 2);
    await keep();
    await keep();
    for (const table of ["job_step", "audit"] as const)
      expect(await partsOf(table)).toEqual([
        "earlier",
        ...(await Promise.all([-1, 0, 1, 2, 3].map(monthName))),
        "later",
      ]);
  });

  test("that a stopped worker did not add are added later, and get the rows that came meanwhile", async () => {
    for (const table of ["job_step", "audit"] as const) await haveMonths(table, -3, -2);
    const [entryNow, entryFar, jobNow] = [await entry(0), await entry(9), await job(0, "queued")];
    expect(await placeOf("audit", "id", entryNow)).toBe("kule_history.audit_later");
    await keep();
    expect(await placeOf("audit", "id", entryNow)).toBe(`kule_history.audit_${await monthName(0)}`);
    expect(await placeOf("audit", "id", entryFar)).toBe("kule_history.audit_later");
    expect(await placeOf("job_step", "job_id", jobNow)).toBe(`kule_history.job_step_${await monthName(0)}`);
  });

  test("are not added while too many rows would have to be moved", async () => {
    await haveMonths("audit", -3, -2);
    await entry(0);
    await expect(worker.query("select kule_extend_history('audit', 3, 0)")).rejects.toThrow(
      "more than 0 rows of audit are later than its last month",
    );
    expect(await partsOf("audit")).toHaveLength(4);
  });

  test("are added by a transaction that waits shortly, so that others are not kept waiting", async () => {
    await haveMonths("audit", -3, -2);
    const reader = new Client({ connectionString: world.world.database.ownerUrl });
    await reader.connect();
    await reader.query("begin; select count(*) from audit");
    await expect(worker.query("select kule_extend_history('audit', 3, 0)")).rejects.toMatchObject({
      code: "55P03",
    });
    const added = keep();
    // A writer passes between two tries.
    await world.owned.post("/ssh-keys", { name: "no key" });
    await reader.query("commit");
    await reader.end();
    await added;
    expect(await partsOf("audit")).toContain(await monthName(3));
  });

  test("are of tables that nobody but the owner reaches other than through theirs", async () => {
    for (const url of [world.world.database.apiUrl, world.world.database.workerUrl]) {
      const client = new Client({ connectionString: url });
      await client.connect();
      for (const table of ["job_step_later", `audit_${await monthName(0)}`])
        await expect(client.query(`select from kule_history.${table}`)).rejects.toMatchObject({
          code: "42501",
        });
      await client.end();
    }
    const api = new Client({ connectionString: world.world.database.apiUrl });
    await api.connect();
    for (const call of ["kule_extend_history('audit', 3, 0)", "kule_remove_job_steps(30)"])
      await expect(api.query(`select ${call}`)).rejects.toMatchObject({ code: "42501" });
    await api.end();
  });
});

describe("steps of jobs", () => {
  beforeEach(async () => {
    await owner.query("delete from job_step; delete from job");
    await haveMonths("job_step", -5, 3);
  });

  test("are kept for ever without the setting", async () => {
    const old = await job(-5, "succeeded");
    await keep();
    expect(await stepsOf(old)).toBe(1);
  });

  test("are removed by whole months, and never those of a job that is open or ended lately", async () => {
    const old = await job(-5, "succeeded");
    const open = await job(-5, "queued");
    const late = await job(-4, "failed", 0);
    const present = await job(0, "succeeded");
    await keep({ steps: 60 });
    expect(await stepsOf(old)).toBe(0);
    for (const id of [open, late, present]) expect(await stepsOf(id)).toBe(1);
    const first = (await partsOf("job_step"))[1];
    expect([await monthName(-2), await monthName(-3)]).toContain(first);
    // The open job goes on.
    await step(open, 2);
    expect(await stepsOf(open)).toBe(2);
    // The row of a removed step's job stays, and can be read.
    expect((await world.owned.get(`/jobs/${old}`)).body).toMatchObject({ id: old, steps: [] });
    await owner.query(
      "update job set status = 'cancelled', finished_at = now() - interval '61 days' where id = $1",
      [open],
    );
    await keep({ steps: 60 });
    expect(await stepsOf(open)).toBe(0);
    expect(await stepsOf(late)).toBe(1);
  });

  test("of the last 30 days are not removed by anybody but the owner", async () => {
    await expect(worker.query("select kule_remove_job_steps(29)")).rejects.toThrow("at least 30 days");
    await expect(worker.query("delete from job_step")).rejects.toMatchObject({ code: "42501" });
  });

  test("of one job are searched in one partition only", async () => {
    const id = await job(-3, "succeeded");
    const { rows } = await owner.query(`explain (format json) select * from job_step where job_id = '${id}'`);
    const [plan] = rows[0]["QUERY PLAN"];
    expect(plan.Plan["Relation Name"]).toBe(`job_step_${await monthName(-3)}`);
  });
});

describe("the audit trail", () => {
  let kept: string;
  let days: number;
  /** One month is older than the others, and one of its entries was committed after the first one of the next month. */
  beforeEach(async () => {
    await owner.query("delete from job_step; delete from job");
    await haveMonths("audit", -5, 3);
    await entry(-5);
    kept = await entry(-4, 5);
    await seal();
    await entry(-4, -5);
    await seal();
    await entry(0);
    await seal();
    const { rows } = await owner.query(
      `select extract(day from (now() at time zone 'UTC') - (${inMonths(-4)} + interval '15 days'))::integer as days`,
    );
    days = rows[0].days;
  });

  const seal = () =>
    expect
      .poll(
        async () => {
          await sealAll(worker, keys);
          const { rowCount } = await owner.query(
            "select from audit a where not exists (select from audit_seal where audit_id = a.id)",
          );
          return rowCount;
        },
        { timeout: 50_000, interval: 20 },
      )
      .toBe(0);
  const found = async () =>
    (await verifyAudit(world.world.replica.deps, worker, keys)).breaks.map(({ reason }) => reason);
  const actions = async () =>
    (await owner.query("select action from audit order by at")).rows.map(({ action }) => action);
  const positions = async () =>
    (await owner.query("select position::integer from audit_seal order by 1")).rows.map(
      (row) => row.position,
    );

  test("is kept for ever without the setting, and without keys to verify it", async () => {
    await keep();
    await keep({ audit: days }, null);
    expect(await actions()).toHaveLength(4);
  });

  test("loses old months with their seals, says so, and is intact from then on", async () => {
    await keep({ audit: days });
    expect((await partsOf("audit"))[1]).toBe(await monthName(-4));
    expect(await actions()).toEqual(["server.update", "server.update", "audit.remove"]);
    expect(await positions()).toEqual([2, 3, 4]);
    expect(await found()).toEqual([]);
    const { items } = (await world.world.operator.get("/audit?action=audit.remove")).body;
    for (const caller of [world.world.operator, world.owned])
      expect((await caller.get("/audit/verify")).body).toMatchObject({
        whole: true,
        kept_from: `${(await monthName(-4)).replace("_", "-")}-01T00:00:00.000Z`,
      });
    expect(items).toMatchObject([
      { actor: { type: "system", name: "retention" }, details: { after_position: 1 } },
    ]);
    expect((await world.owned.get("/audit?action=audit.remove")).body.items).toEqual([]);
    expect((await findViolations(owner)).filter(({ invariant }) => /I9|I12/.test(invariant))).toEqual([]);
    await keep({ audit: days });
    expect(await actions()).toHaveLength(3);
    await world.owned.post("/ssh-keys", { name: "no key" });
    await seal();
    expect(await positions()).toHaveLength(5);
    expect(await found()).toEqual([]);
  });

  test("is cut again, up to its last entry", async () => {
    await haveMonths("audit", -6, 3);
    await entry(-6);
    await entry(-5);
    await seal();
    await keep({ audit: days + 31 });
    await keep({ audit: days });
    await seal();
    expect(await actions()).toEqual(["audit.remove", "audit.remove"]);
    expect(await positions()).toEqual([3, 4]);
    expect(await found()).toEqual([]);
  });

  test("that is not intact is not cut", async () => {
    await owner.query("update audit set actor_name = 'Somebody else' where id = $1", [kept]);
    await keep({ audit: days });
    expect(await actions()).toHaveLength(4);
    expect(await found()).toEqual(["row_changed"]);
  });

  test("of the last 90 days is not removed by anybody but the owner", async () => {
    const remove = (before: string) =>
      worker.query(`select kule_remove_audit((${before})::date, 'aud_x', '{}')`);
    await expect(remove(inMonths(-1))).rejects.toThrow("at least 90 days");
    await expect(remove(`${inMonths(-5)} + interval '3 days'`)).rejects.toThrow("by whole months");
    await expect(worker.query("delete from audit")).rejects.toMatchObject({ code: "42501" });
  });

  test("that was cut by somebody without the key is broken", async () => {
    await worker.query(`select kule_remove_audit((${inMonths(-4)})::date, 'aud_x', '{}')`);
    expect(await found()).toEqual(["row_removed", "row_removed"]);
  });

  describe("after a cut", () => {
    beforeEach(() => keep({ audit: days }));

    test.each([
      ["an entry that the cut does not cover", [], ["row_removed"]],
      [
        "an entry, with a cut of a later time",
        ["update audit_seal_start set removed_before = now()"],
        ["seal_changed", "row_removed", "row_removed"],
      ],
      ["an entry and its seal", ["delete from audit_seal where position = 2"], ["seals_removed"]],
      [
        "an entry and its seal, with a cut of a later position",
        [
          "update audit_seal_start set position = 2, mac = (select mac from audit_seal where position = 2)",
          "delete from audit_seal where position = 2",
        ],
        ["seal_changed", "row_removed"],
      ],
      [
        "an entry, with another time in its seal",
        ["update audit_seal set audit_at = audit_at - interval '1 day' where position = 2"],
        ["seal_changed"],
      ],
      [
        "an entry and the cut",
        ["delete from audit_seal_start"],
        ["row_removed", "seals_removed", "row_removed"],
      ],
    ])("the removal of %s is detected", async (_what, statements, reasons) => {
      await owner.query("delete from audit where id = $1", [kept]);
      for (const statement of statements) await owner.query(statement);
      expect((await found()).sort()).toEqual([...reasons].sort());
    });

    test("an entry that is added to what was removed is detected", async () => {
      await entry(-5);
      expect(await found()).toEqual(["row_added"]);
    });
  });
});
