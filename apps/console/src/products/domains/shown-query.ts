import type { ConsoleContext } from "../../console-context.ts";
import { postedValues } from "../../posted-form.ts";
import { domainPage } from "./read-tab.ts";
import { type RecordQuery, readRecordQuery, recordsAddress } from "./record-query.ts";

/** The filters of the table beside a posted form. */
export function shownQuery(context: ConsoleContext): RecordQuery {
  const { shown_q, shown_type, shown_cursor } = postedValues(context, [
    "shown_q",
    "shown_type",
    "shown_cursor",
  ]);
  return readRecordQuery(new URLSearchParams({ q: shown_q, type: shown_type, cursor: shown_cursor }));
}

/** The same rows again, with a notice. */
export function backTo(context: ConsoleContext, query: RecordQuery, notice: string) {
  return context.redirect(recordsAddress(domainPage(context), query, { notice }), 303);
}
