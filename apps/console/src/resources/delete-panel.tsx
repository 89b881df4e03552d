import type { Child } from "hono/jsx";
import { ActionButton } from "../layout/action-button.tsx";
import { ConfirmName } from "../layout/confirm-name.tsx";
import { FormSeal } from "../layout/parts.tsx";
import type { View } from "../layout/view.ts";
import { keptForm, problemsOf, type RefusedForm, typedIn } from "../refused-form.ts";
import { type AnyItem, pageOf, type Resource } from "./resource.ts";

type Props<Item extends AnyItem> = {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  /** Why it cannot be deleted now, by this person or at all. */
  readonly why: string | null;
  readonly form: RefusedForm | null;
  readonly idempotencyKey: string;
  /** What else is lost. */
  readonly children?: Child;
};

/** The danger zone of a resource whose only dangerous action is deletion. */
export function DeletePanel<Item extends AnyItem>(props: Props<Item>) {
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{props.view.messages.resourceTabs.danger}</h2>
      </div>
      <DeleteRow {...props} />
    </section>
  );
}

/** The deletion form, which requires the name, or the reason why deletion is unavailable. */
export function DeleteRow<Item extends AnyItem>(props: Props<Item>) {
  const { view, resource, item, why, form, idempotencyKey, children } = props;
  const text = resource.texts(view.messages).delete;
  return (
    <form
      class="danger-row"
      id="delete"
      method="post"
      action={`${pageOf(resource, item)}/delete`}
      {...keptForm(form, "delete")}
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
      <div>
        <h3>{text?.title}</h3>
        <p class="hint">{text?.lead}</p>
        {children}
        {why === null ? (
          <ConfirmName
            view={view}
            id="confirm-name"
            name={resource.nameOf(item)}
            typed={typedIn(form, "delete", "confirm_name", "")}
            problems={problemsOf(form, "delete").confirm_name}
          />
        ) : null}
      </div>
      <ActionButton why={why} kind="danger">
        {text?.button}
      </ActionButton>
    </form>
  );
}
