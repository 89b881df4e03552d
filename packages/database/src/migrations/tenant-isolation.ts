/*
 * A CASE and not an OR: the planner takes an OR of these for something that hardly any row passes, and then gives up
 * the ordered index for reading and sorting all rows of the organisation (ADR 0004).
 */
const visible = `case when coalesce(current_setting('app.organisation', true), '') = '' then true
        else organisation_id = current_setting('app.organisation', true) end`;

/**
 * Row-level security of a table of organisations. Also name the table in tenant-tables.ts.
 *
 * It is the second defence: a transaction that has set `app.organisation` sees and writes only that organisation's
 * rows, whatever condition its queries lack. Outside of such a transaction (plain reads, the agents' calls, the
 * worker) only the first defence applies: organisation_id in every query. ADR 0004 has the measurements.
 */
export const isolateTenants = (table: string) => `
alter table ${table} enable row level security;
alter table ${table} force row level security;
create policy organisation on ${table} to kule_api
  using (${visible})
  with check (${visible});
create policy owner on ${table} to current_user using (true) with check (true);`;
