import type { Schemas } from "@kule/contract/schemas";
import { ActButton, reasonOf } from "../../layout/act-button.tsx";
import { Problem } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { Banner, Copyable, FormSeal, Status } from "../../layout/parts.tsx";
import { keptForm, refusedForm, typedIn } from "../../refused-form.ts";
import { may } from "../../session.ts";
import type { PublicIpsPageProps } from "./list-page.tsx";
import { publicIpTones } from "./public-ip-status.ts";

type PublicIp = Schemas["PublicIp"];

/** One address: where it is, and everything that may be done with it. */
export function PublicIpPanel(props: PublicIpsPageProps & { readonly ip: PublicIp }) {
  const { view, ip } = props;
  const { messages, session } = view;
  const text = messages.publicIps;
  const failed = ip.status_reason !== null;
  const mayChange = session === null || may(session, "public_ip:update");
  return (
    <section class="panel" id={ip.id} aria-labelledby={`title-${ip.id}`}>
      <div class="panel-head">
        <h2 id={`title-${ip.id}`} class="mono">
          {ip.address}
        </h2>
        <Status tone={failed ? "bad" : ip.requires_reboot ? "warning" : publicIpTones[ip.status]}>
          {text.status[ip.status]}
        </Status>
      </div>
      {ip.status_reason === null ? null : <Banner kind="problem">{ip.status_reason.message}</Banner>}
      {ip.requires_reboot ? <Banner kind="warning">{text.requiresReboot}</Banner> : null}
      <dl class="facts">
        <div>
          <dt>{text.address}</dt>
          <dd>
            <Copyable view={view} id={`address-${ip.id}`} text={ip.address} />
          </dd>
        </div>
        <div>
          <dt>{text.server}</dt>
          <dd>
            {ip.attached_to === null ? (
              messages.common.none
            ) : ip.attached_to.type === "server" ? (
              <a href={`/servers/${ip.attached_to.id}`}>{ip.attached_to.name}</a>
            ) : (
              ip.attached_to.name
            )}
            {ip.job_id === null ? null : (
              <>
                {" · "}
                <a href={`/jobs/${ip.job_id}`}>{text.job}</a>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{messages.common.region}</dt>
          <dd>{ip.region}</dd>
        </div>
        <div>
          <dt>{text.ptr}</dt>
          <dd class="mono breakable">{ip.ptr ?? "–"}</dd>
        </div>
        <div>
          <dt>{text.withServer}</dt>
          <dd>{ip.delete_with_server ? text.released : text.kept}</dd>
        </div>
      </dl>
      {mayChange ? <Acts {...props} /> : <p class="hint">{messages.common.notAllowed("public_ip:update")}</p>}
    </section>
  );
}

/** Everything that may be done with it; what may not says why. */
function Acts(props: PublicIpsPageProps & { readonly ip: PublicIp }) {
  const { view, ip, idempotencyKey } = props;
  const text = view.messages.publicIps;
  const act = (name: string) => `/public-ips/${ip.id}/${name}`;
  const seal = (name: string) => (
    <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${ip.id}-${name}`} />
  );
  const isAttached = ip.attached_to !== null;
  const update = `update-${ip.id}`;
  const refused = refusedForm(props.form, update);
  const wrongPtr = refused?.problems.ptr;
  const notAttachable = reasonOf(view, ip.actions.attach);
  const notDetachable = reasonOf(view, ip.actions.detach);
  const notReleasable = reasonOf(view, ip.actions.delete);
  const mayUnprotect = view.session === null || may(view.session, "public_ip:unprotect");
  const mustStayProtected = ip.protection.delete && !mayUnprotect;
  const places = props.servers.filter(
    (server) =>
      server.region === ip.region &&
      server.id !== ip.attached_to?.id &&
      !server.public_ips.some(({ version }) => version === ip.version),
  );
  return (
    <>
      <form class="form" method="post" action={act("attach")}>
        {seal("attach")}
        {isAttached ? <input type="hidden" name="force" value="on" /> : null}
        <div class="field">
          <label for={`server-${ip.id}`}>{isAttached ? text.moveTo : text.attachTo}</label>
          <select
            id={`server-${ip.id}`}
            name="server_id"
            disabled={!ip.actions.attach.allowed || places.length === 0}
          >
            {places.length === 0 ? <option value="">{text.noServer}</option> : null}
            {places.map(({ id, name }) => (
              <option value={id}>{name}</option>
            ))}
          </select>
          {notAttachable === null ? null : <p class="hint">{notAttachable}</p>}
          {notAttachable === null && props.hasMoreServers ? (
            <p class="hint">{text.moreServersHint}</p>
          ) : notAttachable === null && places.length === 0 ? (
            <p class="hint">{text.noServerHint}</p>
          ) : null}
        </div>
        <button type="submit" class="button" disabled={!ip.actions.attach.allowed || places.length === 0}>
          {isAttached ? text.move : text.attach}
        </button>
      </form>
      <details class="add-inline" id={`change-${ip.id}`} open={refused !== null}>
        <summary>
          <Icon name="pencil" size={15} />
          {text.change}
        </summary>
        <form class="form" method="post" action={act("update")} {...keptForm(refused, update)}>
          {seal("update")}
          <div class="field" data-invalid={wrongPtr === undefined ? undefined : "true"}>
            <label for={`ptr-${ip.id}`}>{text.ptr}</label>
            <input
              id={`ptr-${ip.id}`}
              name="ptr"
              class="mono"
              maxlength={253}
              autocomplete="off"
              value={typedIn(refused, update, "ptr", ip.ptr ?? "")}
              placeholder="web.example.org"
              aria-invalid={wrongPtr === undefined ? undefined : "true"}
              aria-describedby={wrongPtr === undefined ? undefined : `ptr-${ip.id}-problem`}
              autofocus={wrongPtr !== undefined}
            />
            <Problem name={`ptr-${ip.id}`} problems={wrongPtr} />
            <p class="hint">{text.ptrHint}</p>
          </div>
          <label class="check">
            <input
              type="checkbox"
              name="delete_with_server"
              checked={refused === null ? ip.delete_with_server : "delete_with_server" in refused.values}
            />
            <span>{text.deleteWithServer}</span>
          </label>
          <label class="check">
            <input
              type="checkbox"
              name="protect"
              checked={refused === null ? ip.protection.delete : "protect" in refused.values}
              disabled={mustStayProtected}
            />
            <span>{text.protect}</span>
          </label>
          {mustStayProtected ? (
            <>
              {/* A browser leaves out what is disabled, which would read as taken off. */}
              <input type="hidden" name="protect" value="on" />
              <p class="hint">{view.messages.common.notAllowed("public_ip:unprotect")}</p>
            </>
          ) : null}
          <button type="submit" class="button">
            {text.save}
          </button>
        </form>
      </details>
      <div class="acts">
        <form method="post" action={act("detach")}>
          {seal("detach")}
          <ActButton why={notDetachable} label={text.detachNamed(ip.address)}>
            {text.detach}
          </ActButton>
        </form>
        {notReleasable === null ? (
          <details class="confirm">
            <summary class="button" aria-label={text.releaseNamed(ip.address)}>
              {text.release}
            </summary>
            <form method="post" action={act("release")}>
              {seal("release")}
              <p>
                <strong>{text.releaseQuestion(ip.address)}</strong>
              </p>
              <p class="hint">{text.releaseHint}</p>
              <button type="submit" class="button" data-kind="danger">
                {text.release}
              </button>
            </form>
          </details>
        ) : (
          <ActButton why={notReleasable}>{text.release}</ActButton>
        )}
      </div>
    </>
  );
}
