import type { RecordQuery } from "./record-query.ts";

/** The filters of the table beside a form, so that its answer leads back to the same rows. */
export function ShownFilters({ query }: { readonly query: RecordQuery }) {
  return (
    <>
      <input type="hidden" name="shown_q" value={query.q} />
      <input type="hidden" name="shown_type" value={query.type} />
      <input type="hidden" name="shown_cursor" value={query.cursor ?? ""} />
    </>
  );
}
