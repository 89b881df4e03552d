import { FormSeal } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ChangesTable } from "./changes-table.tsx";
import type { ImportProps } from "./props.ts";
import { domains } from "./resource.ts";

/** What a zone file would change, and the button that changes exactly this. */
export function ImportPreview(
  props: ImportProps & { readonly preview: NonNullable<ImportProps["preview"]> },
) {
  const { view, domain, preview, typed, idempotencyKey } = props;
  const text = view.messages.domains.import;
  const { created, changed, deleted, left_out } = preview;
  const { number } = view.format;
  const isSomething = created.length + changed.length + deleted.length > 0;
  return (
    <section class="panel" id="preview" aria-labelledby="preview-title">
      <div class="panel-head">
        <h2 id="preview-title">{text.previewTitle}</h2>
        {isSomething ? (
          <span class="hint">
            {text.counts(number(created.length), number(changed.length), number(deleted.length))}
          </span>
        ) : null}
      </div>
      {isSomething ? (
        <>
          <ChangesTable view={view} changes={preview} />
          {left_out === 0 ? null : <p class="hint">{text.leftOut(number(left_out))}</p>}
          <form class="acts" method="post" action={`${pageOf(domains, domain)}/import/apply`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-import`} />
            {/* The file of this preview, whatever the field above has by now. */}
            <input type="hidden" name="zone_file" value={typed.zoneFile} />
            <input type="hidden" name="mode" value={typed.mode} />
            <input type="hidden" name="generation" value={String(preview.generation)} />
            <button type="submit" class="button" data-kind="primary">
              {text.apply}
            </button>
          </form>
        </>
      ) : (
        <p>{text.nothing}</p>
      )}
    </section>
  );
}
