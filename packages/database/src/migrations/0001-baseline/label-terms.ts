/**
 * Finds the few rows of an organisation that have certain labels. Lists of many rows ask it before they walk through all of them.
 *
 * Row-level security lets Postgres use an index only for conditions that cannot reveal a hidden row, which those on labels are not:
 * these functions have their owner's rights, and the organisation is in every term of the index.
 */
export const labelTerms = `
-- The labels as the terms of an index: the key, and key=value. No key contains '='. Each begins with the organisation, so that nothing
-- of another one is read for it.
create function kule_label_terms(p_organisation_id text, p_labels jsonb) returns text[]
language sql immutable parallel safe set search_path = public, pg_temp as $$
  select array_agg(p_organisation_id || ' ' || term)
    from (select key as term from jsonb_object_keys(p_labels) key
          union all select key || '=' || value from jsonb_each_text(p_labels)) terms
$$;
-- Whoever adds a row executes it, for the index.
grant execute on function kule_label_terms(text, jsonb) to kule_api;

create function kule_label_terms_of(p_organisation_id text, p_terms text[]) returns text[]
language sql immutable set search_path = public, pg_temp as $$
  select coalesce(array_agg(p_organisation_id || ' ' || term), '{}') from unnest(p_terms) term
$$;
`;

/**
 * The index of a table's labels, and the function that looks rows up by it. Rows without labels are in neither.
 *
 * @param condition which rows it is about, `true` for all
 */
export const labelledRows = (table: string, condition = "true") => `
create index ${table}_labels on ${table} using gin (kule_label_terms(organisation_id, labels))
  with (gin_pending_list_limit = 128) where labels <> '{}' and ${condition};

-- The ids of rows that have all the terms of p_all and one of p_any, which is null where that does not matter; at most p_most.
-- Planned for the values each time: the terms of some are in half of the rows.
create function kule_labelled_${table}(p_organisation_id text, p_all text[], p_any text[], p_most integer) returns setof text
language plpgsql stable security definer set search_path = public, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  v_all constant text[] := kule_label_terms_of(p_organisation_id, p_all);
  v_any constant text[] := kule_label_terms_of(p_organisation_id, p_any);
begin
  if coalesce(current_setting('app.organisation', true), '') not in ('', p_organisation_id) then
    return;
  end if;
  if p_any is null then
    return query select t.id from ${table} t
      where t.organisation_id = p_organisation_id and t.labels <> '{}' and ${condition.replaceAll(/\b(deleted_at)\b/g, "t.$1")}
        and kule_label_terms(t.organisation_id, t.labels) @> v_all
      limit p_most;
  else
    return query select t.id from ${table} t
      where t.organisation_id = p_organisation_id and t.labels <> '{}' and ${condition.replaceAll(/\b(deleted_at)\b/g, "t.$1")}
        and kule_label_terms(t.organisation_id, t.labels) @> v_all
        and kule_label_terms(t.organisation_id, t.labels) && v_any
      limit p_most;
  end if;
end $$;
grant execute on function kule_labelled_${table}(text, text[], text[], integer) to kule_api;
`;
