import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { actorName } from "../jobs/list-page.tsx";
import { ActButton, whyNot } from "./act-button.tsx";
import { RebuildRow } from "./operations.tsx";
import type { ShowPageProps } from "./show-page.tsx";

/** Protection and deletion. What cannot be done now is shown grey, with the reason. */
export function DangerZone(props: ShowPageProps) {
  const { view, server, idempotencyKey } = props;
  const { messages, format } = view;
  if (server.deletion !== null) return null;
  const notDeletable = whyNot(view, server.actions.delete, "server:delete");
  const notChangeable = whyNot(view, server.actions.update, "server:update");
  const isProtected = server.protection.delete;
  const notSwitchable =
    notChangeable ?? (isProtected ? whyNot(view, server.actions.update, "server:unprotect") : null);
  return (
    <section class="panel danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{messages.servers.danger}</h2>
      </div>
      <form class="danger-row" method="post" action={`/servers/${server.id}/protection`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-protection`} />
        <div>
          <h3>{messages.servers.protection}</h3>
          <p class="hint">{isProtected ? messages.servers.protectionOn : messages.servers.protectionOff}</p>
        </div>
        <ActButton why={notSwitchable} name="protect" value={isProtected ? "false" : "true"}>
          {isProtected ? messages.servers.unprotect : messages.servers.protect}
        </ActButton>
      </form>
      <RebuildRow {...props} />
      <form class="danger-row" method="post" action={`/servers/${server.id}/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
        <div>
          <h3>{messages.servers.delete}</h3>
          <p class="hint">
            {messages.servers.deleteLead} {messages.servers.deleteLoses(format.disk(server.package.disk_gb))}
          </p>
          {notDeletable === null ? (
            <div class="field">
              <label for="confirm-name">{messages.servers.deleteConfirm(server.name)}</label>
              <input
                id="confirm-name"
                class="mono"
                type="text"
                name="confirm_name"
                autocomplete="off"
                autocapitalize="none"
                spellcheck={false}
                data-confirm={server.name}
                required
              />
            </div>
          ) : null}
        </div>
        <ActButton why={notDeletable} kind="danger">
          {messages.servers.delete}
        </ActButton>
      </form>
    </section>
  );
}

/** While the removal buffer runs: how long is left, and the way back. */
export function PendingDeletion({ view, server, idempotencyKey }: ShowPageProps) {
  const { messages, format } = view;
  const { deletion } = server;
  if (deletion === null || server.status === "deleting") return null;
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
      <form method="post" action={`/servers/${server.id}/cancel-deletion`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-restore`} />
        <ActButton why={whyNot(view, server.actions.cancel_deletion, "server:delete")} kind="primary">
          {messages.servers.undo}
        </ActButton>
      </form>
      <form method="post" action={`/servers/${server.id}/purge`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-purge`} />
        <ActButton why={whyNot(view, server.actions.purge, "server:purge")} kind="danger">
          {messages.operations.purge}
        </ActButton>
      </form>
    </section>
  );
}
