import { describe, expect, it } from "vitest";
import { tableUses } from "./unfiltered-tables.ts";

const tables = new Set(["ssh_key", "server", "nic", "subnet", "network", "address", "job"]);
const open = (sql: string) =>
  tableUses(sql, tables)
    .filter((use) => !use.isFiltered)
    .map((use) => `${use.verb} ${use.table}`);

const filtered: readonly string[] = [
  'select * from "ssh_key" where "organisation_id" = $1 and "id" = $2',
  "select * from ssh_key k where k.name = 'or' and k.organisation_id = $1::text",
  "select server.id from nic join server on server.organisation_id = nic.organisation_id where nic.organisation_id = $1",
  "select 1 from nic left join server s on s.organisation_id = nic.organisation_id where (nic.organisation_id = $1)",
  "select (select count(*) from subnet s where s.organisation_id = network.organisation_id) from network where network.organisation_id = $1",
  "insert into ssh_key (id, organisation_id) values ($1, $2) returning *",
  "update server set name = $1 where organisation_id = $2 and (name is distinct from $3 or name is null)",
  "delete from nic where organisation_id = $1 and server_id = $2",
  'SELECT 1 FROM ONLY "public"."nic" x WHERE $1 OPERATOR(pg_catalog.=) "organisation_id" FOR KEY SHARE OF x',
  "select extract(epoch from now() - s.created_at) from server s where s.organisation_id = $1 order by 1 limit $2",
  "with mine as (select id from ssh_key where organisation_id = $1) select * from mine",
  "select a.address from address a where a.organisation_id = p_organisation_id and a.subnet_id = p_subnet_id",
  "select * from region",
];

const unfiltered: readonly (readonly [sql: string, ...uses: string[]])[] = [
  ["select * from ssh_key", "select ssh_key"],
  ["select * from ssh_key where id = $1", "select ssh_key"],
  ["select * from ssh_key where organisation_id = $1 or name = $2", "select ssh_key"],
  ["select * from ssh_key where (organisation_id = $1 or name = $2) and id = $3", "select ssh_key"],
  ["select * from ssh_key where organisation_id <> $1", "select ssh_key"],
  ["select * from ssh_key where case when $1 then true else organisation_id = $2 end", "select ssh_key"],
  ["select * from ssh_key where not organisation_id = $1", "select ssh_key"],
  ["select * from ssh_key where id in (select id from ssh_key where organisation_id = $1)", "select ssh_key"],
  ["select * from ssh_key where organisation_id = $1 and id in (select id from server)", "select server"],
  ["with every as (select * from ssh_key) select * from every", "select ssh_key"],
  [
    "select s.id from nic join server s on s.id = nic.server_id where nic.organisation_id = $1",
    "select server",
  ],
  ["select nic.id from nic left join region r on nic.organisation_id = $1", "select nic"],
  ["select 1 from nic, server where nic.organisation_id = $1 and server.id = nic.server_id", "select server"],
  [
    "select 1 from nic join server on server.organisation_id = nic.organisation_id",
    "select nic",
    "select server",
  ],
  ["select 1 from network where organisation_id = $1 union all select 1 from subnet", "select subnet"],
  ["update server set name = $1 where id = $2", "update server"],
  [
    "update server set name = n.mac from nic n where server.organisation_id = $1 and n.server_id = server.id",
    "select nic",
  ],
  ["delete from nic where server_id = $1", "delete nic"],
  [
    "delete from nic using server where nic.organisation_id = $1 and nic.server_id = server.id",
    "delete server",
  ],
  ["insert into ssh_key (id) values ($1)", "insert ssh_key"],
  ["insert into ssh_key (id, organisation_id) select id, $1 from server", "select server"],
];

describe("a statement of the log", () => {
  it.each(filtered)("names the organisation of each of its tables: %s", (sql) => {
    expect(open(sql)).toEqual([]);
  });

  it.each(unfiltered)("is detected: %s", (sql, ...uses) => {
    expect(open(sql).map((use) => use.replace(/^\w+/, ""))).toEqual(
      uses.map((use) => use.replace(/^\w+/, "")),
    );
  });

  it("that cannot be read is an error and not silence", () => {
    expect(() => open("select (1")).toThrow("not closed");
  });
});
