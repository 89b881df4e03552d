/**
 * What was promised in a region since its agent last said what there is room for, beside the servers that were made since:
 * resizes that grow a server, and creates that go to another node than they first did. Of no organisation: room is of
 * all. Rows that a later report has counted are deleted with it, and those of a resize that came to nothing at its end.
 */
export const regionGrowth = `
create table region_growth (
  id bigint generated always as identity primary key,
  region text not null references region (slug),
  server_id text not null,
  at timestamptz not null default clock_timestamp(),
  -- Null: nobody knows yet, and it may be any.
  node text,
  vcpu integer not null check (vcpu >= 0),
  memory_mb integer not null check (memory_mb >= 0),
  disk_gb integer not null check (disk_gb >= 0)
);
create index region_growth_region on region_growth (region, at);
grant select, insert, delete on region_growth to kule_api;
`;
