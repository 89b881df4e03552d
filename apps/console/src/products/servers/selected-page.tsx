import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { Banner, EmptyState, FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { problemText } from "../../problem-messages.ts";
import { type SelectedActName, type SelectedEnd, selectedActs } from "./selected-acts.ts";
import { serverTone } from "./server-status.ts";
import { whyNot } from "./why-not.ts";

type Server = Schemas["Server"];

type Props = {
  readonly view: View;
  readonly act: SelectedActName;
  readonly servers: readonly Server[];
  readonly idempotencyKey: string;
};

/** What would happen to each of the chosen servers, before anything does. */
export function SelectedPage({ view, act, servers, idempotencyKey }: Props) {
  const { messages } = view;
  const text = messages.selection;
  const { action, permission } = selectedActs[act];
  const looked = servers.map((server) => ({ server, why: whyNot(view, server, action, permission) }));
  const possible = looked.filter(({ why }) => why === null);
  const impossible = looked.filter(({ why }) => why !== null);
  const title = text.titles[act](text.servers(possible.length));
  return (
    <Shell view={view} title={title} section="servers">
      <PageHead title={title} lead={text.leads[act]} />
      {possible.length === 0 ? (
        <Banner kind="warning">{text.nothingPossible}</Banner>
      ) : (
        <form class="panel stack" method="post" action="/servers/selected">
          <FormSeal view={view} idempotencyKey={idempotencyKey} />
          <input type="hidden" name="act" value={act} />
          <h2>{text.will}</h2>
          <Servers>
            {possible.map(({ server }) => (
              <Line view={view} server={server}>
                <input type="hidden" name="ids" value={server.id} />
                <Status tone={serverTone(server.status)}>
                  {messages.servers.status[server.status] ?? server.status}
                </Status>
              </Line>
            ))}
          </Servers>
          <div class="selected-acts">
            <button
              type="submit"
              class="button"
              data-kind={act === "delete" || act === "stop" ? "danger" : "primary"}
            >
              {text.acts[act]}
            </button>
            <a class="button" href="/servers">
              {messages.common.cancel}
            </a>
          </div>
        </form>
      )}
      {impossible.length === 0 ? null : (
        <section class="panel stack">
          <h2>{text.cannot}</h2>
          <Servers>
            {impossible.map(({ server, why }) => (
              <Line view={view} server={server}>
                <span class="why">{why}</span>
              </Line>
            ))}
          </Servers>
        </section>
      )}
      {possible.slice(0, 1).map(({ server }) => (
        <ApiCall view={view} id="selected-call" {...selectedActs[act].called(server.id)} />
      ))}
      {possible.length > 0 ? null : <Back view={view} />}
    </Shell>
  );
}

/** What was asked for, and what the API said of each. */
export function SelectedEndPage(props: {
  readonly view: View;
  readonly act: SelectedActName;
  readonly ends: readonly SelectedEnd[];
  readonly idempotencyKey: string;
}) {
  const { view, act, ends, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.selection;
  const away = ends.filter(({ outcome }) => outcome.kind === "away");
  return (
    <Shell view={view} title={text.result} section="servers">
      <PageHead title={text.result} lead={text.acts[act]} />
      <section class="panel">
        <Servers>
          {ends.map(({ server, outcome }) => (
            <Line view={view} server={server}>
              {outcome.kind === "done" ? (
                <Status tone="good">{text.asked}</Status>
              ) : outcome.kind === "away" ? (
                <Status tone="warning">{text.unknown}</Status>
              ) : (
                <>
                  <Status tone="bad">{text.refused}</Status>
                  <span class="why">{problemText(outcome.problem, messages)}</span>
                </>
              )}
            </Line>
          ))}
        </Servers>
      </section>
      {away.length === 0 ? null : (
        <form class="panel stack" method="post" action="/servers/selected">
          <FormSeal view={view} idempotencyKey={idempotencyKey} />
          <input type="hidden" name="act" value={act} />
          {away.map(({ server }) => (
            <input type="hidden" name="ids" value={server.id} />
          ))}
          <p>{text.unknownHint}</p>
          <button type="submit" class="button" data-kind="primary">
            {text.askAgain}
          </button>
        </form>
      )}
      <Back view={view} />
    </Shell>
  );
}

/** Nothing to do: no box was ticked. */
export function NothingSelectedPage({ view }: { readonly view: View }) {
  const text = view.messages.selection;
  return (
    <Shell view={view} title={text.none} section="servers">
      <EmptyState title={text.none} hint={text.noneHint}>
        <Back view={view} />
      </EmptyState>
    </Shell>
  );
}

function Servers({ children }: { readonly children?: Child }) {
  return <ul class="selected-list">{children}</ul>;
}

function Line(props: {
  readonly view: View;
  readonly server: SelectedEnd["server"];
  readonly children?: Child;
}) {
  return (
    <li>
      <a href={`/servers/${props.server.id}`}>{props.server.name}</a>
      {props.children}
    </li>
  );
}

function Back({ view }: { readonly view: View }) {
  return (
    <p>
      <a class="button" href="/servers">
        {view.messages.selection.back}
      </a>
    </p>
  );
}
