import { notAllowed } from "../layout/action-button.tsx";
import { type EditProps, LabelForms, type Labelled, LabelTags } from "../layout/labels.tsx";
import { permissionTo } from "./resource.ts";

/** The labels of a resource with the forms that change them; for other roles the labels alone. */
export function LabelsPanel<Item extends Labelled>(
  props: EditProps<Item> & {
    /** False for what is never changed here, whatever the role. */ readonly isOffered?: boolean;
  },
) {
  const { view, resource, item } = props;
  const texts = view.messages.labels;
  const isOffered = props.isOffered !== false && notAllowed(view, permissionTo(resource, "update")) === null;
  return (
    <section class="panel edit-labels" id="labels" aria-labelledby="labels-title">
      <div class="panel-head">
        <h2 id="labels-title">{texts.title}</h2>
      </div>
      {isOffered ? <LabelForms {...props} /> : <LabelTags labels={item.labels} />}
    </section>
  );
}
