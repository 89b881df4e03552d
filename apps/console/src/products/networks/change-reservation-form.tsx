import type { Schemas } from "@kule/contract/schemas";
import { ActionButton } from "../../layout/action-button.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EditLabels } from "../../layout/labels.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, refusedForm } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import type { SubnetOverviewProps } from "./props.ts";
import { reservations } from "./reservation-resource.ts";

type Props = SubnetOverviewProps & {
  readonly reservation: Schemas["Reservation"];
  readonly why: string | null;
};

/**
 * Name, description and labels of a reserved address. Ids contain the reservation's id: a page has several of these
 * forms.
 */
export function ChangeReservation(props: Props) {
  const { view, reservation, why, idempotencyKey } = props;
  const { id, name, description } = reservation;
  const text = view.messages.subnet;
  const settings = `settings-${id}`;
  const form = refusedForm(props.form, settings);
  const problems = form?.problems ?? noProblems;
  return (
    <div class="row-changes">
      <details class="rename" id={`change-${id}`} open={form !== null}>
        <summary aria-label={text.changeNamed(name)}>
          <Icon name="pencil" size={14} />
          {text.change}
        </summary>
        <form
          class="label-row"
          method="post"
          action={`${pageOf(reservations, reservation)}/settings`}
          {...keptForm(form, settings)}
        >
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${settings}`} />
          <TextField
            view={view}
            id={`name-${id}`}
            name="name"
            label={text.name}
            value={form?.values.name ?? name}
            problems={problems}
            required
            mono
            maxlength={63}
            autofocus={form !== null}
          />
          <TextField
            view={view}
            id={`description-${id}`}
            name="description"
            label={text.note}
            value={form?.values.description ?? description}
            problems={problems}
            optional
            maxlength={500}
          />
          <ActionButton why={why}>{view.messages.common.save}</ActionButton>
        </form>
      </details>
      <EditLabels
        view={view}
        resource={reservations}
        item={reservation}
        isOneOfMany
        why={why}
        form={props.form}
        idempotencyKey={idempotencyKey}
      />
    </div>
  );
}
