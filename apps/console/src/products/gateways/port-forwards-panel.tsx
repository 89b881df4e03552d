import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal, Status, When } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { OverviewProps } from "./props.ts";
import { forwardTones } from "./status.ts";

/** The forwarded ports of the gateway, and their servers. */
export function PortForwards(props: OverviewProps) {
  const { view, gateway, forwards, servers, idempotencyKey } = props;
  const text = view.messages.gateways.forwards;
  const notChangeable = disabledReason(props, null);
  return (
    <section class="panel" id="forwards" aria-labelledby="forwards-title">
      <div class="panel-head">
        <h2 id="forwards-title">{text.title}</h2>
      </div>
      {forwards.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{text.listen}</th>
              <th scope="col">{text.to}</th>
              <th scope="col">{text.note}</th>
              <th scope="col">{text.state}</th>
              <th scope="col">{view.messages.common.created}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {forwards.map((forward) => {
              const port = `${forward.protocol.toUpperCase()} ${forward.listen_port}`;
              const server = servers.find(({ id }) => id === forward.server_id);
              return (
                <tr id={forward.id} data-tone={forwardTones[forward.status]}>
                  <th scope="row" class="mono">
                    {port}
                  </th>
                  <td data-label={text.to}>
                    <span>
                      <a href={`/servers/${forward.server_id}`}>{server?.name ?? forward.server_id}</a>{" "}
                      <span class="mono">{`${forward.target_address}:${forward.target_port}`}</span>
                    </span>
                  </td>
                  <td class="anywhere" data-label={forward.description === "" ? undefined : text.note}>
                    {forward.description}
                  </td>
                  <td data-label={text.state}>
                    <Status tone={forwardTones[forward.status]}>{text.states[forward.status]}</Status>
                  </td>
                  <td data-label={view.messages.common.created}>
                    <When view={view} time={forward.created_at} />
                  </td>
                  <td class="row-act">
                    <Offered view={view} permission="gateway:update">
                      <form method="post" action={`/gateways/${gateway.id}/unforward`}>
                        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-unforward-${forward.id}`} />
                        <input type="hidden" name="port_forward_id" value={forward.id} />
                        <ActionButton
                          why={
                            forward.status === "deleting" && gateway.job_id !== null
                              ? text.states.deleting
                              : notChangeable
                          }
                          label={text.removeNamed(port)}
                        >
                          {text.remove}
                        </ActionButton>
                      </form>
                    </Offered>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      <Offered view={view} permission="gateway:update">
        <ForwardForm {...props} />
      </Offered>
    </section>
  );
}

function ForwardForm(props: OverviewProps) {
  const { view, gateway, servers, idempotencyKey } = props;
  const text = view.messages.gateways.forwards;
  const form = refusedForm(props.form, "forward");
  const problems = form?.problems ?? noProblems;
  const served = gateway.subnets.filter(({ status }) => status !== "detaching");
  const reachable = servers.filter(({ interfaces }) =>
    interfaces.some((nic) => served.some(({ subnet_id }) => subnet_id === nic.subnet_id)),
  );
  const why = disabledReason(props, "forward_port") ?? (reachable.length === 0 ? text.noServer : null);
  return (
    <details
      class="add-inline"
      id="add-forward"
      open={form !== null}
      {...(form === null ? {} : { "hx-morph-skip": "" })}
    >
      <summary>
        <Icon name="plus" size={16} />
        {text.add}
      </summary>
      <form class="form" method="post" action={`/gateways/${gateway.id}/forward`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-forward`} />
        <SelectField
          name="protocol"
          label={text.protocol}
          value={form?.values.protocol ?? "tcp"}
          options={["tcp", "udp"].map((value) => ({ value, label: value.toUpperCase() }))}
          problems={problems}
        />
        <TextField
          view={view}
          name="listen_port"
          label={text.listen}
          value={form?.values.listen_port ?? ""}
          problems={problems}
          required
          mono
          maxlength={5}
          attributes={{ inputmode: "numeric", placeholder: "443" }}
        />
        <SelectField
          name="server_id"
          label={text.server}
          value={form?.values.server_id ?? ""}
          options={reachable.map(({ id, name }) => ({ value: id, label: name }))}
          problems={problems}
        />
        <TextField
          view={view}
          name="target_port"
          label={text.targetPort}
          value={form?.values.target_port ?? ""}
          hint={text.targetHint}
          problems={problems}
          optional
          mono
          maxlength={5}
          attributes={{ inputmode: "numeric" }}
        />
        <TextField
          view={view}
          id="forward-description"
          name="description"
          label={text.note}
          value={form?.values.description ?? ""}
          problems={problems}
          optional
          maxlength={500}
        />
        <ActionButton why={why} kind="primary">
          {text.add}
        </ActionButton>
      </form>
    </details>
  );
}
