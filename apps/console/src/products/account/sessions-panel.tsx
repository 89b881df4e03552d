import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { deviceOf } from "./device.ts";
import type { AccountPageProps } from "./props.ts";

/** The person's sessions, each with a button that ends it. */
export function SessionsPanel({ view, sessions, idempotencyKey }: AccountPageProps) {
  const { messages } = view;
  const text = messages.account;
  return (
    <section class="panel" id="sessions" aria-labelledby="sessions-title">
      <div class="panel-head">
        <h2 id="sessions-title">{text.sessions}</h2>
        {sessions.length < 2 ? null : (
          <details class="confirm">
            <summary class="button">{text.endOthers}</summary>
            <form method="post" action="/account/sessions/end-others">
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-others`} />
              <p>
                <strong>{text.endOthersQuestion}</strong>
              </p>
              <button type="submit" class="button" data-kind="danger">
                {text.endOthers}
              </button>
            </form>
          </details>
        )}
      </div>
      <p class="panel-lead">{text.sessionsHint}</p>
      <table class="list">
        <caption class="visually-hidden">{text.sessions}</caption>
        <thead>
          <tr>
            <th scope="col">{text.device}</th>
            <th scope="col">{text.address}</th>
            <th scope="col">{text.openedBy}</th>
            <th scope="col">{text.opened}</th>
            <th scope="col">{text.lastUsed}</th>
            <td></td>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <SessionRow view={view} session={session} idempotencyKey={`${idempotencyKey}-${session.id}`} />
          ))}
        </tbody>
      </table>
      {sessions.length < 2 ? <p class="hint">{text.onlyHere}</p> : null}
    </section>
  );
}

function SessionRow(props: {
  readonly view: View;
  readonly session: Schemas["LoginSession"];
  readonly idempotencyKey: string;
}) {
  const { view, session } = props;
  const text = view.messages.account;
  const device = deviceOf(session.user_agent) ?? text.unknownDevice;
  return (
    <tr id={session.id}>
      <th scope="row">
        <span title={session.user_agent ?? undefined}>{device}</span>
        {session.current ? <span class="tag">{text.here}</span> : null}
        {session.organisation === null ? null : <div class="hint">{session.organisation.name}</div>}
      </th>
      <td class="mono breakable" data-label={text.address}>
        {session.source_address ?? "–"}
      </td>
      <td data-label={text.openedBy}>
        {text.openedByNames[session.opened_by]}
        {session.provider === null ? null : <div class="hint">{session.provider}</div>}
      </td>
      <td data-label={text.opened}>
        <When view={view} time={session.created_at} />
      </td>
      <td data-label={text.lastUsed}>
        <When view={view} time={lastUse(session)} />
      </td>
      <td class="row-act">
        {session.current ? null : (
          <form method="post" action={`/account/sessions/${session.id}/end`}>
            <FormSeal view={view} idempotencyKey={props.idempotencyKey} />
            <button type="submit" class="button" aria-label={text.endSessionNamed(device)}>
              {text.endSession}
            </button>
          </form>
        )}
      </td>
    </tr>
  );
}

/** The API records it to the minute, which may have begun before the session. */
function lastUse({ created_at: created, last_used_at: used }: Schemas["LoginSession"]): string {
  return used !== null && Date.parse(used) > Date.parse(created) ? used : created;
}
