import type { Schemas } from "@kule/contract/schemas";
import { ActButton } from "../../layout/act-button.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EditLabels } from "../../layout/labels.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, refusedForm } from "../../refused-form.ts";
import type { SubnetPageProps } from "./subnet-page.tsx";

type Props = SubnetPageProps & {
  readonly reservation: Schemas["Reservation"];
  readonly why: string | null;
};

/** Name, description and labels of a reserved address. Ids carry the reservation's: several of these are on a page. */
export function ChangeReservation(props: Props) {
  const { view, subnet, reservation, why, idempotencyKey } = props;
  const { id, name, description, labels } = reservation;
  const text = view.messages.subnet;
  const path = `/networks/${subnet.network_id}/subnets/${subnet.id}/reservations/${id}`;
  const settings = `settings-${id}`;
  const labelling = `labels-${id}`;
  const form = refusedForm(props.form, settings);
  const problems = form?.problems ?? noProblems;
  return (
    <div class="row-changes">
      <details class="rename" id={`change-${id}`} open={form !== null}>
        <summary aria-label={text.changeNamed(name)}>
          <Icon name="pencil" size={14} />
          {text.change}
        </summary>
        <form class="label-row" method="post" action={`${path}/settings`} {...keptForm(form, settings)}>
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
          <ActButton why={why}>{view.messages.common.save}</ActButton>
        </form>
      </details>
      <EditLabels
        view={view}
        action={`${path}/labels`}
        of={labelling}
        name={name}
        labels={labels}
        why={why}
        form={props.form}
        idempotencyKey={idempotencyKey}
      />
    </div>
  );
}
