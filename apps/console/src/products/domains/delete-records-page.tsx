import { ConfirmName } from "../../layout/confirm-name.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EmptyState, FormSeal } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { deletionCalls } from "./calls.ts";
import { ChangesTable } from "./changes-table.tsx";
import { headedDomains } from "./head-part.tsx";
import type { DeleteRecordsProps } from "./props.ts";
import { recordKey } from "./record-key.ts";
import { recordsAddress } from "./record-query.ts";
import { domains } from "./resource.ts";
import { ShownFilters } from "./shown-filters-part.tsx";

/** What the deletion of the chosen record sets would change, and its confirmation. */
export function DeleteRecordsPage(props: DeleteRecordsProps) {
  const { view, domain, banner, idempotencyKey, changes, query } = props;
  const text = view.messages.domains.record.selected;
  const back = recordsAddress(pageOf(domains, domain), query);
  return (
    <ResourcePage
      view={view}
      resource={domains}
      item={domain}
      head={headedDomains.headOf(view, domain, idempotencyKey)}
      tab="records"
      banner={banner}
      calls={deletionCalls(domain, changes.deleted)}
      still={
        changes.deleted.length === 0 ? (
          <EmptyState title={text.none} hint={text.noneHint}>
            <a class="button" href={back}>
              {text.back}
            </a>
          </EmptyState>
        ) : (
          <Deletion {...props} back={back} />
        )
      }
    />
  );
}

function Deletion(props: DeleteRecordsProps & { readonly back: string }) {
  const { view, domain, changes, confirmation, query, typed, back, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.domains.record.selected;
  const page = pageOf(domains, domain);
  const { deleted } = changes;
  return (
    <section class="panel" id="preview" aria-labelledby="preview-title">
      <div class="panel-head">
        <h2 id="preview-title">{text.title(deleted.length)}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <ChangesTable view={view} changes={changes} />
      <form class="stack preview-form" method="post" action={`${page}/records/selected/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-selected`} />
        <ShownFilters query={query} />
        {deleted.map((recordSet) => (
          <>
            <input type="hidden" name="ids" value={recordKey(recordSet)} />
            <input type="hidden" name="etags" value={recordSet.etag} />
          </>
        ))}
        <ConfirmName
          view={view}
          id="confirm-selected"
          name={confirmation}
          label={deleted.length === 1 ? undefined : messages.selection.typeCount(confirmation)}
          typed={typed ?? ""}
          problems={typed === null ? undefined : [messages.selection.mistyped(confirmation)]}
        />
        <div class="selected-acts">
          <button type="submit" class="button" data-kind="danger">
            {text.apply}
          </button>
          <a class="button" href={`${page}/zone-file`} download>
            <Icon name="download" size={16} />
            {messages.domains.record.download}
          </a>
          <a class="button" href={back}>
            {messages.common.cancel}
          </a>
        </div>
      </form>
    </section>
  );
}
