import { Offered } from "../layout/action-button.tsx";
import type { View } from "../layout/view.ts";
import type { RefusedForm } from "../refused-form.ts";
import { LabelsPanel } from "./labels-panel.tsx";
import { type AnyItem, permissionTo, type Resource } from "./resource.ts";
import { SettingsForm } from "./settings-form.tsx";

type Changeable = AnyItem & {
  readonly name: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
};

/** The panels for name, description and labels on a resource's settings, for roles that may change them. */
export function ChangeForms<Item extends Changeable>(props: {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  /** Why they cannot be changed now. */
  readonly why: string | null;
  readonly form: RefusedForm | null;
  readonly idempotencyKey: string;
}) {
  return (
    <Offered view={props.view} permission={permissionTo(props.resource, "update")}>
      <SettingsForm {...props} />
      <LabelsPanel {...props} />
    </Offered>
  );
}
