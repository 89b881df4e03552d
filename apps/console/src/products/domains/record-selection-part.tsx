import { FormSeal } from "../../layout/parts.tsx";
import { selectionForm } from "../selected/selection-part.tsx";
import type { RecordsProps } from "./props.ts";
import { ShownFilters } from "./shown-filters-part.tsx";

/** The bar for the records whose boxes are checked: it leads to the page that shows what would be deleted. */
export function RecordSelection(
  props: Pick<RecordsProps, "view" | "query" | "idempotencyKey"> & { readonly page: string },
) {
  const { view, query, page, idempotencyKey } = props;
  const { domains, selection } = view.messages;
  return (
    <form id={selectionForm} class="selection-bar" method="post" action={`${page}/records/selected`}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-selected`} />
      <ShownFilters query={query} />
      <button type="submit" class="button" data-kind="danger">
        {domains.record.selected.delete}
      </button>
      <p class="hint">{selection.hint}</p>
    </form>
  );
}
