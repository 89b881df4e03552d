import { migrate } from "@kule/database/migrate";
import { tenantTables } from "@kule/database/tenant-tables";
import { UnknownMigrations } from "@kule/database/unknown-migrations";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { freshDatabase } from "./database.ts";

async function withBoth(work: (owner: pg.Client, api: pg.Client) => Promise<void>): Promise<void> {
  const database = await freshDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  const api = new pg.Client({ connectionString: database.apiUrl });
  await owner.connect();
  await api.connect();
  try {
    await work(owner, api);
  } finally {
    await owner.end();
    await api.end();
    await database.drop();
  }
}

const seed = `
  insert into organisation (id, slug, name) values ('org_a', 'a', 'A'), ('org_b', 'b', 'B');
  insert into region (slug, name, vmid_first, vmid_last, vlan_first, vlan_last) values ('r1', 'R1', 100, 200, 100, 200);
  insert into ssh_key (id, organisation_id, name, public_key, fingerprint_sha256, fingerprint_md5, type, bits, comment)
    values ('key_a', 'org_a', 'k', 'x', 'x', 'x', 'rsa', 2048, ''), ('key_b', 'org_b', 'k', 'x', 'x', 'x', 'rsa', 2048, '');
  insert into network (id, organisation_id, region, name, cidr) values ('net_a', 'org_a', 'r1', 'n', '10.0.0.0/16');
`;

describe("the database", () => {
  it("can be migrated again without a change", async () => {
    const database = await freshDatabase();
    expect(await migrate(database.ownerUrl)).toEqual([]);
    await database.drop();
  });

  it("is refused and left as it is when another build has migrated it", async () => {
    const database = await freshDatabase();
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    try {
      await owner.query("update kule_migration set name = '0001-identity'");
      await owner.query("drop policy worker on server");
      await expect(migrate(database.ownerUrl)).rejects.toThrow(UnknownMigrations);
      await expect(migrate(database.ownerUrl)).rejects.toThrow(/by: 0001-identity\. Nothing was changed\./);
      expect((await owner.query("select name from kule_migration")).rows).toEqual([
        { name: "0001-identity" },
      ]);
      const policies = "select from pg_policy where polrelid = 'server'::regclass and polname = 'worker'";
      expect((await owner.query(policies)).rowCount).toBe(0);
    } finally {
      await owner.end();
      await database.drop();
    }
  });

  it("gives the API's role no ownership, no superuser rights and no way round row-level security", async () => {
    await withBoth(async (owner) => {
      const { rows: roles } = await owner.query(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles where rolname = 'kule_api'",
      );
      expect(roles).toEqual([
        { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false },
      ]);
      const { rows: owned } = await owner.query(
        "select relname from pg_class where relowner = 'kule_api'::regrole",
      );
      expect(owned).toEqual([]);
      const { rows: unprotected } = await owner.query(
        `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'organisation_id'
          where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
            and not (c.relrowsecurity and c.relforcerowsecurity)
            and c.relname not in ('token', 'audit', 'idempotency_key', 'region_organisation',
                                  -- Of the worker and of operators, who see those of no organisation too.
                                  'audit_seal', 'audit_break')`,
      );
      expect(unprotected).toEqual([]);
      const { rows: protectedTables } = await owner.query(
        "select relname from pg_class where relforcerowsecurity and relnamespace = 'public'::regnamespace",
      );
      expect(protectedTables.map((row) => row.relname).sort()).toEqual([...tenantTables].sort());
    });
  });

  it("shows a transaction of one organisation nothing of another, whatever the query leaves out", async () => {
    await withBoth(async (owner, api) => {
      await owner.query(seed);
      await api.query("begin; select set_config('app.organisation', 'org_a', true)");
      const { rows } = await api.query("select id from ssh_key");
      expect(rows).toEqual([{ id: "key_a" }]);
      const changed = await api.query("update ssh_key set name = 'stolen'");
      expect(changed.rowCount).toBe(1);
      await expect(
        api.query("update ssh_key set organisation_id = 'org_b' where id = 'key_a'"),
      ).rejects.toMatchObject({ code: "42501" });
      await api.query("rollback");
    });
  });

  it("refuses a child that points at another organisation's parent", async () => {
    await withBoth(async (owner) => {
      await owner.query(seed);
      await expect(
        owner.query(
          `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
           values ('sub_b', 'org_b', 'net_a', 'r1', 's', 'app', '10.0.1.0/24', '10.0.1.1', '10.0.1.2')`,
        ),
      ).rejects.toMatchObject({ code: "23503" });
    });
  });

  it("has every foreign key between tenant tables carry the organisation", async () => {
    await withBoth(async (owner) => {
      const { rows } = await owner.query(
        `select con.conname from pg_constraint con
           join pg_class child on child.oid = con.conrelid join pg_class parent on parent.oid = con.confrelid
          where con.contype = 'f' and child.relforcerowsecurity and parent.relforcerowsecurity
            and not exists (select 1 from unnest(con.conkey) k join pg_attribute a on a.attrelid = con.conrelid
                             and a.attnum = k where a.attname = 'organisation_id')`,
      );
      expect(rows).toEqual([]);
    });
  });

  it("lets nobody but the owner read the months of history other than through their tables", async () => {
    await withBoth(async (owner, api) => {
      const { rows } = await owner.query<{ name: string }>(
        "select c.oid::regclass::text as name from pg_class c where relnamespace = 'kule_history'::regnamespace and relkind = 'r'",
      );
      expect(rows.length).toBeGreaterThan(10);
      for (const { name } of rows)
        await expect(api.query(`select from ${name}`)).rejects.toMatchObject({ code: "42501" });
      const { rows: rights } = await owner.query(
        `select c.relname from pg_class c, unnest(array['kule_api', 'kule_worker']) role
          where relnamespace = 'kule_history'::regnamespace and relkind = 'r'
            and has_table_privilege(role, c.oid, 'select, insert, update, delete')`,
      );
      expect(rights).toEqual([]);
    });
  });

  it("lets the API append to the audit trail and to usage, change neither, and write no segment", async () => {
    await withBoth(async (_owner, api) => {
      for (const table of ["audit", "usage_event"]) {
        await expect(api.query(`delete from ${table}`)).rejects.toMatchObject({ code: "42501" });
        await expect(api.query(`update ${table} set id = 'x'`)).rejects.toMatchObject({ code: "42501" });
      }
      for (const write of [
        "delete from usage_segment",
        "update usage_segment set ended_at = now()",
        "insert into usage_segment (id) values ('seg_1')",
        "select kule_usage_derive(null)",
      ])
        await expect(api.query(write)).rejects.toMatchObject({ code: "42501" });
    });
  });

  it("keeps the API's role out of graphile-worker's tables and functions", async () => {
    await withBoth(async (_owner, api) => {
      await expect(api.query("select * from graphile_worker._private_jobs")).rejects.toMatchObject({
        code: "42501",
      });
      await expect(api.query("select graphile_worker.add_job('x')")).rejects.toMatchObject({ code: "42501" });
      await expect(api.query("select kule_task_add('rm', '{}', now(), 'k')")).rejects.toThrow(
        "not one the API may add",
      );
    });
  });

  it("refuses overlapping subnets in one network and allows them in two", async () => {
    await withBoth(async (owner) => {
      await owner.query(seed);
      await owner.query(
        "insert into network (id, organisation_id, region, name, cidr) values ('net_a2', 'org_a', 'r1', 'n2', '10.0.0.0/16')",
      );
      const insert = (id: string, network: string, cidr: string) =>
        owner.query(
          `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
           values ($1, 'org_a', $2, 'r1', $1, 'app', $3, '10.0.1.1', '10.0.1.2')`,
          [id, network, cidr],
        );
      // Without their VLANs, for once: only the replica role can commit that.
      await owner.query("set session_replication_role = replica");
      await insert("sub_1", "net_a", "10.0.0.0/23");
      await expect(insert("sub_2", "net_a", "10.0.1.0/24")).rejects.toMatchObject({ code: "23P01" });
      await insert("sub_3", "net_a2", "10.0.1.0/24");
    });
  });
});
