import { ActionButton } from "../../layout/action-button.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { disabledReason } from "./disabled-reason.ts";
import type { OverviewProps } from "./props.ts";

/** The address's server: attach it to one, move it to another, or detach it. */
export function Placement(props: OverviewProps) {
  const { view, ip, servers, idempotencyKey } = props;
  const text = view.messages.publicIps;
  const isAttached = ip.attached_to !== null;
  const whyNotAttach = disabledReason(props, "attach");
  const places = servers.filter(
    (server) =>
      server.id !== ip.attached_to?.id && !server.public_ips.some(({ version }) => version === ip.version),
  );
  const why = whyNotAttach ?? (places.length === 0 ? text.noServerHint : null);
  return (
    <section class="panel" id="placement" aria-labelledby="placement-title">
      <div class="panel-head">
        <h2 id="placement-title">{text.place}</h2>
        {isAttached ? (
          <form method="post" action={`/public-ips/${ip.id}/detach`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-detach`} />
            <ActionButton why={disabledReason(props, "detach")} label={text.detachNamed(ip.address)}>
              {text.detach}
            </ActionButton>
          </form>
        ) : null}
      </div>
      <form class="label-row" method="post" action={`/public-ips/${ip.id}/attach`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-attach`} />
        {isAttached ? <input type="hidden" name="force" value="on" /> : null}
        <div class="field">
          <label for="field-server_id">{isAttached ? text.moveTo : text.attachTo}</label>
          <select id="field-server_id" name="server_id" disabled={why !== null}>
            {places.length === 0 ? <option value="">{text.noServer}</option> : null}
            {places.map(({ id, name }) => (
              <option value={id}>{name}</option>
            ))}
          </select>
        </div>
        <button type="submit" class="button" disabled={why !== null}>
          {isAttached ? text.move : text.attach}
        </button>
        <p class="hint">{why ?? text.attachHint}</p>
      </form>
    </section>
  );
}
