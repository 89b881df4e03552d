import { ActButton } from "../../layout/act-button.tsx";
import { Problem, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, type RefusedForm, typedIn } from "../../refused-form.ts";
import type { ShowPageProps } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

/** Labels as they are, each leading to the servers that share it; and how they are changed. */
export function LabelsPanel(props: ShowPageProps) {
  const { view, server, refused } = props;
  const texts = view.messages.labels;
  const labels = Object.entries(server.labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const why = whyNot(view, server, "update", "server:update");
  return (
    <section class="panel" id="labels" aria-labelledby="labels-title">
      <div class="panel-head">
        <h2 id="labels-title">{view.messages.servers.labels}</h2>
      </div>
      {labels.length === 0 ? <p class="hint">{texts.empty}</p> : <LabelTags labels={server.labels} />}
      <details class="add-inline" id="edit-labels" open={refused?.of === "labels"}>
        <summary>
          <Icon name="pencil" size={15} />
          {texts.edit}
        </summary>
        {labels.map(([key, value]) => (
          <LabelRow {...props} labelKey={key} value={value} why={why} />
        ))}
        <AddLabel {...props} why={why} />
      </details>
    </section>
  );
}

/** Labels as tags; each one is a filter of the list. */
export function LabelTags({ labels }: { readonly labels: Readonly<Record<string, string>> }) {
  return (
    <span class="tags">
      {Object.entries(labels)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => (
          <a
            class="tag mono"
            href={`/servers?${new URLSearchParams({ labels: value === "" ? key : `${key}=${value}` })}`}
          >
            {value === "" ? key : `${key}=${value}`}
          </a>
        ))}
    </span>
  );
}

type RowProps = ShowPageProps & { readonly why: string | null };

/** The form that came back, if it was the one of this label; the form for a new one has no key of its own. */
function refusedFor(refused: RefusedForm | null, key: string): RefusedForm | null {
  const isRow = refused?.values.row === "true";
  return refused?.of === "labels" && (key === "" ? !isRow : isRow && refused.values.key === key)
    ? refused
    : null;
}

function LabelRow(props: RowProps & { readonly labelKey: string; readonly value: string }) {
  const { view, server, labelKey, value, why, idempotencyKey } = props;
  const texts = view.messages.labels;
  const refused = refusedFor(props.refused, labelKey);
  const problems = problemsOf(refused, "labels");
  const wrong = problems.value ?? problems.key;
  const id = `label-${labelKey}`;
  return (
    <form
      class="label-row"
      method="post"
      action={`/servers/${server.id}/labels`}
      {...keptForm(refused, "labels")}
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-label-${labelKey}`} />
      <input type="hidden" name="key" value={labelKey} />
      <input type="hidden" name="row" value="true" />
      <div class="field" data-invalid={wrong === undefined ? undefined : "true"}>
        <label class="mono" for={id}>
          {labelKey}
        </label>
        <input
          id={id}
          class="mono"
          type="text"
          name="value"
          value={typedIn(refused, "labels", "value", value)}
          maxlength={63}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          disabled={why !== null}
          aria-describedby={wrong === undefined ? undefined : `${id}-problem`}
        />
        <Problem name={id} problems={wrong} />
      </div>
      <button type="submit" class="button" name="intent" value="set" disabled={why !== null}>
        {texts.save}
      </button>
      <button
        type="submit"
        class="button"
        name="intent"
        value="remove"
        aria-label={texts.removeNamed(labelKey)}
        disabled={why !== null}
      >
        {texts.remove}
      </button>
    </form>
  );
}

function AddLabel({ view, server, refused: any, why, idempotencyKey }: RowProps) {
  const texts = view.messages.labels;
  const refused = refusedFor(any, "");
  const problems = problemsOf(refused, "labels");
  return (
    <form
      class="label-row"
      method="post"
      action={`/servers/${server.id}/labels`}
      {...keptForm(refused, "labels")}
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-label`} />
      <TextField
        view={view}
        name="key"
        label={texts.key}
        value={typedIn(refused, "labels", "key", "")}
        problems={problems}
        autofocus={refused !== null}
        required
        mono
        maxlength={317}
        attributes={{ placeholder: "role" }}
      />
      <TextField
        view={view}
        name="value"
        label={texts.value}
        value={typedIn(refused, "labels", "value", "")}
        problems={problems}
        optional
        mono
        maxlength={63}
        attributes={{ placeholder: "web" }}
      />
      <ActButton why={why} name="intent" value="set">
        {texts.add}
      </ActButton>
      <p class="hint">{texts.hint}</p>
    </form>
  );
}
