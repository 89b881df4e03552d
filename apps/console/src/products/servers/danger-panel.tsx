import { ActionButton, notAllowed, Offered } from "../../layout/action-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal, Status } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { DeleteRow } from "../../resources/delete-panel.tsx";
import { actorName } from "../jobs/list-page.tsx";
import { disabledReason, isOwn } from "./disabled-reason.ts";
import type { ServerTabProps, SettingsTabProps } from "./props.ts";
import { RebuildRow } from "./rebuild-form.tsx";
import { servers } from "./resource.ts";

/** Protection and deletion. Unavailable actions are disabled, with the reason. */
export function DangerZone(props: SettingsTabProps) {
  const { view, server, refused, idempotencyKey } = props;
  const { messages, format } = view;
  if (server.deletion !== null || !isOwn(server)) return null;
  // A role without any of these permissions sees nothing.
  if (["server:update", "server:delete"].every((permission) => notAllowed(view, permission) !== null))
    return null;
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{messages.servers.danger}</h2>
      </div>
      <ProtectionRow {...props} of="delete" />
      <ProtectionRow {...props} of="rebuild" />
      <RebuildRow {...props} />
      <DeleteRow
        view={view}
        resource={servers}
        item={server}
        why={disabledReason(view, server, "delete", "server:delete")}
        form={refused}
        idempotencyKey={idempotencyKey}
      >
        <p class="hint">{messages.servers.deleteLoses(format.disk(server.disk_gb))}</p>
        <LostAddresses {...props} />
      </DeleteRow>
    </section>
  );
}

/** Which public addresses are released with the server: each has a setting for it. */
function LostAddresses({ view, server, publicIps }: SettingsTabProps) {
  const text = view.messages.deletionLoses;
  const own = publicIps.filter(({ attached_to }) => attached_to?.id === server.id);
  const goes = own.filter((ip) => ip.delete_with_server && !ip.protection.delete);
  const stays = own.filter((ip) => !goes.includes(ip));
  const list = (ips: typeof own) => ips.map(({ address }) => address).join(", ");
  return (
    <>
      {goes.length === 0 ? null : <p class="hint">{text.goes(list(goes))}</p>}
      {stays.length === 0 ? null : <p class="hint">{text.stays(list(stays))}</p>}
    </>
  );
}

/** One of the two protections, and the button that switches it. */
function ProtectionRow(props: SettingsTabProps & { readonly of: "delete" | "rebuild" }) {
  const { view, server, idempotencyKey, of } = props;
  const { messages } = view;
  const texts = messages.protection[of];
  const isOn = server.protection[of];
  const switchText = isOn ? messages.servers.unprotect : messages.servers.protect;
  const why =
    disabledReason(view, server, "update", "server:update") ??
    (isOn ? disabledReason(view, server, "update", "server:unprotect") : null);
  return (
    <form class="danger-row" method="post" action={`/servers/${server.id}/protection`}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-protect-${of}`} />
      <input type="hidden" name="of" value={of} />
      <div>
        <h3 class="title-line">
          {texts.title}
          <Status tone={isOn ? "good" : "idle"}>
            {isOn ? messages.protection.on : messages.protection.off}
          </Status>
        </h3>
        <p class="hint">{isOn ? texts.isOn : texts.isOff}</p>
      </div>
      <ActionButton
        why={why}
        name="protect"
        value={isOn ? "false" : "true"}
        label={`${switchText}: ${texts.title}`}
      >
        {switchText}
      </ActionButton>
    </form>
  );
}

/** In the removal buffer: the remaining time, and the button that cancels the deletion. */
export function PendingDeletion({ view, server, refused, idempotencyKey }: ServerTabProps) {
  const { messages, format } = view;
  const { deletion } = server;
  if (deletion === null || server.status === "deleting") return null;
  const notPurgeable = disabledReason(view, server, "purge", "server:purge");
  const left = Date.parse(deletion.purge_at) - view.now.getTime();
  return (
    <section class="panel pending" aria-labelledby="pending-title">
      <div>
        <h2 id="pending-title">
          <Icon name="alert" />
          <span>
            {messages.servers.pendingLead}{" "}
            <time datetime={deletion.purge_at} data-countdown="" title={format.dateTime(deletion.purge_at)}>
              {format.duration(left)}
            </time>
          </span>
        </h2>
        <p class="hint">
          {messages.servers.undoLead} {messages.servers.restoresTo[deletion.restores_to]}{" "}
          {messages.servers.pendingBy(actorName(view, deletion.requested_by))}.
        </p>
      </div>
      {isOwn(server) ? (
        <>
          <Offered view={view} permission="server:delete">
            <form method="post" action={`/servers/${server.id}/cancel-deletion`}>
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-restore`} />
              <ActionButton
                why={disabledReason(view, server, "cancel_deletion", "server:delete")}
                kind="primary"
              >
                {messages.servers.undo}
              </ActionButton>
            </form>
          </Offered>
          <Offered view={view} permission="server:purge">
            <details class="confirm" open={refused?.of === "purge"}>
              <summary class="button" data-kind="danger">
                {messages.operations.purge}
              </summary>
              <form
                id="purge"
                method="post"
                action={`/servers/${server.id}/purge`}
                {...keptForm(refused, "purge")}
              >
                <FormSeal view={view} idempotencyKey={`${idempotencyKey}-purge`} />
                <p class="hint">{messages.operations.purgeHint}</p>
                {notPurgeable === null ? (
                  <ConfirmName
                    view={view}
                    id="purge-name"
                    name={server.name}
                    typed={typedIn(refused, "purge", "confirm_name", "")}
                    problems={problemsOf(refused, "purge").confirm_name}
                  />
                ) : null}
                <ActionButton why={notPurgeable} kind="danger">
                  {messages.operations.purge}
                </ActionButton>
              </form>
            </details>
          </Offered>
        </>
      ) : null}
    </section>
  );
}
