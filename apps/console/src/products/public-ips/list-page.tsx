import type { Schemas } from "@kule/contract/schemas";
import { apiCall } from "../../api-call.ts";
import { type FieldProblems, Problem, TextField } from "../../layout/fields.tsx";
import {
  Banner,
  CallExample,
  Copyable,
  EmptyState,
  FormSeal,
  PageHead,
  Pages,
  Status,
} from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";
import { publicIpTones } from "./public-ip-status.ts";

type PublicIp = Schemas["PublicIp"];

export type PublicIpsPageProps = {
  readonly view: View;
  readonly ips: Schemas["PublicIpList"];
  /** Where an address could go. */
  readonly servers: readonly Pick<Schemas["Server"], "id" | "name" | "region" | "public_ips">[];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly cursor: string | undefined;
  readonly form: {
    readonly values: Readonly<Record<string, string>>;
    readonly problems: FieldProblems;
  } | null;
  readonly banner: { readonly kind: "notice" | "problem" | "warning"; readonly text: string } | null;
  readonly idempotencyKey: string;
};

export function PublicIpsPage(props: PublicIpsPageProps) {
  const { view, ips, banner } = props;
  const { messages, session } = view;
  const mayTake = session === null || may(session, "public_ip:create");
  return (
    <Shell view={view} title={messages.publicIps.title} section="publicIps">
      <PageHead title={messages.publicIps.title} lead={messages.publicIps.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      {ips.items.length === 0 ? (
        <EmptyState title={messages.publicIps.empty} hint={messages.publicIps.emptyHint} />
      ) : (
        ips.items.map((ip) => <PublicIpPanel {...props} ip={ip} />)
      )}
      <Pages
        view={view}
        base="/public-ips"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={ips.next_cursor}
      />
      {mayTake ? (
        <TakePublicIp {...props} />
      ) : (
        <p class="hint">{messages.common.notAllowed("public_ip:create")}</p>
      )}
    </Shell>
  );
}

function PublicIpPanel(props: PublicIpsPageProps & { readonly ip: PublicIp }) {
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
            ) : (
              <a href={`/servers/${ip.attached_to.id}`}>{ip.attached_to.name}</a>
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
          {ip.actions.attach.reason === null ? null : <p class="hint">{ip.actions.attach.reason}</p>}
        </div>
        <button type="submit" class="button" disabled={!ip.actions.attach.allowed || places.length === 0}>
          {isAttached ? text.move : text.attach}
        </button>
      </form>
      <details class="add-inline">
        <summary>{text.change}</summary>
        <form class="form" method="post" action={act("update")}>
          {seal("update")}
          <div class="field">
            <label for={`ptr-${ip.id}`}>{text.ptr}</label>
            <input
              id={`ptr-${ip.id}`}
              name="ptr"
              class="mono"
              maxlength={253}
              autocomplete="off"
              value={ip.ptr ?? ""}
              placeholder="web.example.org"
            />
            <p class="hint">{text.ptrHint}</p>
          </div>
          <label class="check">
            <input type="checkbox" name="delete_with_server" checked={ip.delete_with_server} />
            <span>{text.deleteWithServer}</span>
          </label>
          <label class="check">
            <input
              type="checkbox"
              name="protect"
              checked={ip.protection.delete}
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
          <button
            type="submit"
            class="button"
            disabled={!ip.actions.detach.allowed}
            title={ip.actions.detach.reason ?? undefined}
          >
            {text.detach}
          </button>
        </form>
        {ip.actions.delete.allowed ? (
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
          <button type="button" class="button" disabled title={ip.actions.delete.reason ?? undefined}>
            {text.release}
          </button>
        )}
      </div>
    </>
  );
}

function TakePublicIp({ view, regions, form, idempotencyKey }: PublicIpsPageProps) {
  const { messages } = view;
  const text = messages.publicIps;
  const problems = form?.problems ?? {};
  return (
    <section class="panel" aria-labelledby="take-title">
      <div class="panel-head">
        <h2 id="take-title">{text.take}</h2>
      </div>
      <p class="panel-lead">{text.takeHint}</p>
      <form class="form" method="post" action="/public-ips">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div class="field" data-invalid={problems.region === undefined ? undefined : "true"}>
          <label for="field-region">{messages.common.region}</label>
          <select id="field-region" name="region">
            {regions.map(({ slug, name }) => (
              <option value={slug} selected={form?.values.region === slug}>
                {name}
              </option>
            ))}
          </select>
          <Problem name="region" problems={problems.region} />
        </div>
        <div class="field">
          <label for="field-version">{text.version}</label>
          <select id="field-version" name="version">
            {["4", "6"].map((version) => (
              <option value={version} selected={form?.values.version === version}>
                {`IPv${version}`}
              </option>
            ))}
          </select>
        </div>
        <TextField
          view={view}
          name="ptr"
          label={text.ptr}
          value={form?.values.ptr ?? ""}
          hint={text.ptrHint}
          problems={problems}
          optional
          mono
          maxlength={253}
        />
        <button type="submit" class="button" data-kind="primary">
          {text.take}
        </button>
      </form>
      <CallExample
        view={view}
        id="take-call"
        call={apiCall({
          apiUrl: view.apiUrl,
          method: "POST",
          path: "/public-ips",
          body: { region: regions[0]?.slug ?? "ist1" },
        })}
      />
    </section>
  );
}
