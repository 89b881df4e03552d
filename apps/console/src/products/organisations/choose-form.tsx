import type { Schemas } from "@kule/contract/schemas";
import { FormSeal } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

/** Chooses the organisation, and redirects to `to`. */
export function ChooseOrganisation(props: {
  readonly view: View;
  readonly organisation: Schemas["Organisation"];
  readonly to?: string;
  readonly label?: string;
}) {
  const { view, organisation, to, label } = props;
  const text = view.messages.organisations;
  const current = view.session?.organisation?.id === organisation.id;
  if (current && to === undefined) return <span class="tag">{text.current}</span>;
  return (
    <form method="post" action="/organisations">
      <FormSeal view={view} />
      <input type="hidden" name="organisation_id" value={organisation.id} />
      {to === undefined ? null : <input type="hidden" name="return_to" value={to} />}
      <button type="submit" class="button">
        {label ?? text.choose}
      </button>
    </form>
  );
}
