import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { LabelTags } from "../../layout/labels.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal, Status, When } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { addressTones } from "./address-table.tsx";
import { ChangeReservation } from "./change-reservation-form.tsx";
import { whyNotChangeSubnet } from "./disabled-reason.ts";
import type { SubnetOverviewProps } from "./props.ts";
import { reservations as reservationResource } from "./reservation-resource.ts";

/** The reserved addresses, and the forms that reserve and release one. */
export function Reservations(props: SubnetOverviewProps) {
  const { view, subnet, reservations, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.subnet;
  const why = whyNotChangeSubnet(view, subnet);
  return (
    <section class="panel" id="reservations" aria-labelledby="reservations-title">
      <div class="panel-head">
        <h2 id="reservations-title">{text.reservations}</h2>
      </div>
      <p class="panel-lead">{text.reservationsHint}</p>
      {reservations.length === 0 ? (
        <p class="hint">{text.noReservations}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.reservations}</caption>
          <thead>
            <tr>
              <th scope="col">{text.name}</th>
              <th scope="col">{text.address}</th>
              <th scope="col">{text.state}</th>
              <th scope="col">{text.note}</th>
              <th scope="col">{messages.common.created}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {reservations.map((reservation) => {
              const { id, name, address, state, server, description, labels } = reservation;
              return (
                <tr id={id} data-tone={addressTones[state]}>
                  <th scope="row">
                    {name}
                    <LabelTags labels={labels} />
                    <Offered view={view} permission="network:update">
                      <ChangeReservation {...props} reservation={reservation} why={why} />
                    </Offered>
                  </th>
                  <td class="mono" data-label={text.address}>
                    {address}
                  </td>
                  <td data-label={text.state}>
                    <div>
                      <Status tone={addressTones[state]}>{text.states[state]}</Status>
                      {server === null ? null : (
                        <div>
                          <a href={`/servers/${server.id}`}>{server.name}</a>
                        </div>
                      )}
                    </div>
                  </td>
                  <td class="anywhere" data-label={description === "" ? undefined : text.note}>
                    {description}
                  </td>
                  <td data-label={messages.common.created}>
                    <When view={view} time={reservation.created_at} />
                  </td>
                  <td class="row-act">
                    <Offered view={view} permission="network:update">
                      <form method="post" action={`${pageOf(reservationResource, reservation)}/delete`}>
                        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${id}`} />
                        <button
                          type="submit"
                          class="button"
                          aria-label={text.giveUpNamed(name)}
                          disabled={why !== null}
                        >
                          {text.giveUp}
                        </button>
                      </form>
                    </Offered>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      <Offered view={view} permission="network:update">
        <ReserveForm {...props} why={why} />
      </Offered>
    </section>
  );
}

function ReserveForm(props: SubnetOverviewProps & { readonly why: string | null }) {
  const { view, subnet, why, idempotencyKey } = props;
  const text = view.messages.subnet;
  const form = refusedForm(props.form, "reserve");
  const problems = form?.problems ?? noProblems;
  return (
    <details
      class="add-inline"
      id="add-reservation"
      open={form !== null}
      {...(form === null ? {} : { "hx-morph-skip": "" })}
    >
      <summary>
        <Icon name="plus" size={16} />
        {text.reserve}
      </summary>
      <form
        class="form"
        method="post"
        action={`/networks/${subnet.network_id}/subnets/${subnet.id}/reservations`}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-reserve`} />
        <TextField
          view={view}
          name="name"
          label={text.name}
          value={form?.values.name ?? ""}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <TextField
          view={view}
          name="address"
          label={text.address}
          value={form?.values.address ?? ""}
          hint={text.addressHint}
          problems={problems}
          optional
          mono
          maxlength={15}
          attributes={{ inputmode: "decimal" }}
        />
        <TextField
          view={view}
          name="description"
          label={text.note}
          value={form?.values.description ?? ""}
          problems={problems}
          optional
          maxlength={500}
        />
        <MoreFields view={view} id="more-reservation" form={form} fields={["labels"]}>
          <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
        </MoreFields>
        <ActionButton why={why} kind="primary">
          {text.reserve}
        </ActionButton>
      </form>
    </details>
  );
}
