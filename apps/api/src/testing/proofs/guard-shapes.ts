import type { DB } from "@kule/database/generated/rows";
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from "kysely";
import { systemQuery } from "../../platform/database.ts";
import { tenantGuard } from "../../platform/tenant-guard.ts";

const db = new Kysely<DB>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (connection) => new PostgresIntrospector(connection),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
  plugins: [tenantGuard],
});

const keys = db.selectFrom("ssh_key").selectAll();

type Shapes = { readonly [what: string]: { execute(): Promise<unknown> } };

/** Queries of which each table names the organisation: the guard must let them pass. */
export const guardedShapes: Shapes = {
  "a filter of its own": keys.where("organisation_id", "=", "org_1"),
  "a filter among others": keys.where("name", "=", "x").where("ssh_key.organisation_id", "=", "org_1"),
  "a join that carries the organisation": db
    .selectFrom("nic")
    .innerJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "nic.organisation_id")
        .onRef("server.id", "=", "nic.server_id"),
    )
    .select("server.id")
    .where("nic.organisation_id", "=", "org_1"),
  "a left join of rows of the same organisation": db
    .selectFrom("nic")
    .leftJoin("server", (join) => join.onRef("server.organisation_id", "=", "nic.organisation_id"))
    .select("server.id")
    .where("nic.organisation_id", "=", "org_1"),
  "a correlated subquery": db
    .selectFrom("network")
    .select((is) =>
      is
        .selectFrom("subnet")
        .select("subnet.id")
        .whereRef("subnet.organisation_id", "=", "network.organisation_id")
        .limit(1)
        .as("first"),
    )
    .where("network.organisation_id", "=", "org_1"),
  "an update and a delete of their own": db
    .updateTable("ssh_key")
    .set({ name: "x" })
    .where("organisation_id", "=", "org_1"),
  "an insert that says whose it is": db
    .insertInto("member")
    .values({ id: "1", organisation_id: "org_1", user_id: "1", role: "owner" }),
  "a table of no organisation": db.selectFrom("region").selectAll(),
};

/** Queries without the organisation's condition: the guard must refuse them. */
export const openShapes: Shapes = {
  "no filter": keys,
  "only another filter": keys.where("id", "=", "key_1"),
  "a filter inside an or": keys.where((is) =>
    is.or([is("organisation_id", "=", "org_1"), is("name", "=", "x")]),
  ),
  "an inequality": keys.where("organisation_id", "!=", "org_1"),
  "a filter of a subquery only": keys.where("id", "in", (is) =>
    is.selectFrom("ssh_key").select("id").where("organisation_id", "=", "org_1"),
  ),
  "an unfiltered subquery": keys
    .where("organisation_id", "=", "org_1")
    .where("id", "in", (is) => is.selectFrom("server").select("id")),
  "an unfiltered table in a CTE": db
    .with("every", (is) => is.selectFrom("ssh_key").selectAll())
    .selectFrom("every")
    .selectAll(),
  "a joined table without its organisation": db
    .selectFrom("nic")
    .innerJoin("server", "server.id", "nic.server_id")
    .select("server.id")
    .where("nic.organisation_id", "=", "org_1"),
  "a filter in the ON of a left join, which keeps none of the left rows out": db
    .selectFrom("nic")
    .leftJoin("region", (join) => join.on("nic.organisation_id", "=", "org_1"))
    .select("nic.id"),
  "a full join": db
    .selectFrom("nic")
    .fullJoin("server", (join) => join.on("server.organisation_id", "=", "org_1"))
    .select("server.id")
    .where("nic.organisation_id", "=", "org_1"),
  "two tables that only refer to each other": db
    .selectFrom("nic")
    .innerJoin("server", "server.organisation_id", "nic.organisation_id")
    .select("server.id"),
  "an update": db.updateTable("ssh_key").set({ name: "x" }).where("id", "=", "key_1"),
  "a delete": db.deleteFrom("ssh_key").where("id", "=", "key_1"),
  "raw SQL that does not name the column": { execute: () => sql`select * from ssh_key`.execute(db) },
};

/** Gives a reason why it names no organisation, so the guard must let it pass. */
export const excusedShape = systemQuery(db, "this test").selectFrom("ssh_key").selectAll();
