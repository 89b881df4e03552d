import type { Schemas } from "@kule/contract/schemas";
import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

type Session = Schemas["ConsoleSession"];

type Props = {
  readonly view: View;
  readonly server: Pick<Schemas["Server"], "id">;
  readonly consoleSessions: readonly Session[];
  readonly idempotencyKey: string;
};

const tones = { ticketed: "idle", connecting: "busy", open: "good" } as const satisfies Record<string, Tone>;

/** The open sessions of the server's console, with a button that ends each. */
export function ConsoleSessions(props: Props) {
  const { view, consoleSessions } = props;
  const text = view.messages.consoles.sessions;
  return (
    <section class="panel" id="console-sessions" aria-labelledby="console-sessions-title">
      <div class="panel-head">
        <h2 id="console-sessions-title">{text.title}</h2>
      </div>
      {consoleSessions.length === 0 ? <p class="hint">{text.none}</p> : null}
      {consoleSessions.map((each) => (
        <RunningSession {...props} each={each} />
      ))}
    </section>
  );
}

function RunningSession({ view, server, each, idempotencyKey }: Props & { readonly each: Session }) {
  const { messages, format } = view;
  const text = messages.consoles.sessions;
  const name = each.actor.name ?? each.actor.id ?? text.somebody;
  return (
    <div class="address-row" id={each.id}>
      <div>
        <p class="session-who">
          <strong class="breakable">{name}</strong>
          {each.is_own ? ` ${text.you}` : ""} · {text.types[each.type]}
        </p>
        <p class="hint">
          <Status tone={tones[each.state]}>{text.states[each.state]}</Status> ·{" "}
          <When view={view} time={each.opened_at ?? each.created_at} />
        </p>
        {each.state === "open" ? (
          <p class="hint figures">
            {text.traffic(format.bytes(each.bytes_in), format.bytes(each.bytes_out))}
            {each.last_activity_at === null ? null : (
              <>
                {" · "}
                {text.lastInput} <When view={view} time={each.last_activity_at} />
              </>
            )}
          </p>
        ) : null}
      </div>
      <Offered view={view} permission="server:console">
        <form method="post" action={`/servers/${server.id}/end-console`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-end-${each.id}`} />
          <input type="hidden" name="session_id" value={each.id} />
          <ActionButton why={null} label={text.endOf(name)}>
            {text.end}
          </ActionButton>
        </form>
      </Offered>
    </div>
  );
}
