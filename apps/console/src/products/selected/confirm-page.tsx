import type { Child } from "hono/jsx";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { RemedyLink } from "../../layout/page-notice.tsx";
import { Banner, EmptyState, FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { problemText } from "../../problem-messages.ts";
import { remedyOf } from "../../remedy.ts";
import { type AnyItem, listCrumbs, listPath, pageOf } from "../../resources/resource.ts";
import { confirmationOf, type SelectedEnd, type SelectedKind } from "./kind.ts";

type Props<Item extends AnyItem, Act extends string> = {
  readonly view: View;
  readonly kind: SelectedKind<Item, Act>;
  readonly act: Act;
  readonly idempotencyKey: string;
};

/** The effect on each selected resource, before anything is done. */
export function SelectedPage<Item extends AnyItem, Act extends string>(
  props: Props<Item, Act> & {
    readonly items: readonly Item[];
    /** The typed confirmation that did not match; null on a fresh page. */
    readonly mistyped?: string | null;
  },
) {
  const { view, kind, act, items, idempotencyKey, mistyped = null } = props;
  const { messages } = view;
  const text = messages.selection;
  const own = kind.texts(messages);
  const looked = items.map((item) => ({ item, why: kind.acts[act].why(view, item) }));
  const possible = looked.filter(({ why }) => why === null).map(({ item }) => item);
  const [first] = possible;
  const impossible = looked.filter(({ why }) => why !== null);
  const title = own.titles[act](own.count(possible.length));
  const confirmation = confirmationOf(kind, act, possible);
  return (
    <Shell
      view={view}
      title={title}
      section={kind.resource.section}
      crumbs={listCrumbs(kind.resource, view.messages)}
    >
      <PageHead
        title={title}
        lead={own.leads[act]}
        {...(first === undefined
          ? {}
          : { api: <ApiDrawer view={view} calls={[kind.acts[act].called(first)]} /> })}
      />
      {possible.length === 0 ? (
        <Banner kind="warning">{text.nothingPossible}</Banner>
      ) : (
        <form class="panel stack" method="post" action={`${listPath(kind.resource)}/selected`}>
          <FormSeal view={view} idempotencyKey={idempotencyKey} />
          <input type="hidden" name="act" value={act} />
          <h2>{text.will}</h2>
          <Lines>
            {possible.map((item) => (
              <Line kind={kind} item={item}>
                <input type="hidden" name="ids" value={item.id} />
                {kind.state(view, item)}
              </Line>
            ))}
          </Lines>
          {confirmation === null ? null : (
            <ConfirmName
              view={view}
              id="confirm-selected"
              name={confirmation}
              label={possible.length === 1 ? undefined : text.typeCount(confirmation)}
              typed={mistyped ?? ""}
              problems={mistyped === null ? undefined : [text.mistyped(confirmation)]}
            />
          )}
          <div class="selected-acts">
            <button type="submit" class="button" data-kind={kind.acts[act].isDanger ? "danger" : "primary"}>
              {own.acts[act]}
            </button>
            <a class="button" href={listPath(kind.resource)}>
              {messages.common.cancel}
            </a>
          </div>
        </form>
      )}
      {impossible.length === 0 ? null : (
        <section class="panel stack">
          <h2>{text.cannot}</h2>
          <Lines>
            {impossible.map(({ item, why }) => (
              <Line kind={kind} item={item}>
                <span class="why">{why}</span>
              </Line>
            ))}
          </Lines>
        </section>
      )}
      {possible.length > 0 ? null : <Back view={view} kind={kind} />}
    </Shell>
  );
}

/** The action, and the API's answer for each resource. */
export function SelectedEndPage<Item extends AnyItem, Act extends string>(
  props: Props<Item, Act> & { readonly ends: readonly SelectedEnd<Item>[] },
) {
  const { view, kind, act, ends, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.selection;
  const away = ends.filter(({ outcome }) => outcome.kind === "away");
  return (
    <Shell
      view={view}
      title={text.result}
      section={kind.resource.section}
      crumbs={listCrumbs(kind.resource, view.messages)}
    >
      <PageHead title={text.result} lead={kind.texts(messages).acts[act]} />
      <section class="panel">
        <Lines>
          {ends.map(({ item, outcome }) => (
            <Line kind={kind} item={item}>
              {outcome.kind === "done" ? (
                <Status tone="good">{text.asked}</Status>
              ) : outcome.kind === "away" ? (
                <Status tone="warning">{text.unknown}</Status>
              ) : (
                <>
                  <Status tone="bad">{text.refused}</Status>
                  <span class="why">
                    {problemText(outcome.problem, messages)}
                    <RemedyLink remedy={remedyOf(outcome.problem.precondition, view)} />
                  </span>
                </>
              )}
            </Line>
          ))}
        </Lines>
      </section>
      {away.length === 0 ? null : (
        <form class="panel stack" method="post" action={`${listPath(kind.resource)}/selected`}>
          <FormSeal view={view} idempotencyKey={idempotencyKey} />
          <input type="hidden" name="act" value={act} />
          {away.map(({ item }) => (
            <input type="hidden" name="ids" value={item.id} />
          ))}
          <input
            type="hidden"
            name="confirm_name"
            value={
              confirmationOf(
                kind,
                act,
                away.map(({ item }) => item),
              ) ?? ""
            }
          />
          <p>{text.unknownHint}</p>
          <button type="submit" class="button" data-kind="primary">
            {text.askAgain}
          </button>
        </form>
      )}
      <Back view={view} kind={kind} />
    </Shell>
  );
}

/** Nothing to do: no box was checked. */
export function NothingSelectedPage<Item extends AnyItem, Act extends string>(props: {
  readonly view: View;
  readonly kind: SelectedKind<Item, Act>;
}) {
  const { view, kind } = props;
  const text = view.messages.selection;
  return (
    <Shell
      view={view}
      title={text.none}
      section={kind.resource.section}
      crumbs={listCrumbs(kind.resource, view.messages)}
    >
      <EmptyState title={text.none} hint={text.noneHint}>
        <Back view={view} kind={kind} />
      </EmptyState>
    </Shell>
  );
}

function Lines({ children }: { readonly children?: Child }) {
  return <ul class="selected-list">{children}</ul>;
}

function Line<Item extends AnyItem, Act extends string>(props: {
  readonly kind: SelectedKind<Item, Act>;
  readonly item: Item;
  readonly children?: Child;
}) {
  const { kind, item, children } = props;
  const { resource } = kind;
  const name = resource.nameOf(item);
  const path = resource.hasPage ? pageOf(resource, item) : null;
  return (
    <li>
      {path === null ? <strong>{name}</strong> : <a href={path}>{name}</a>}
      {children}
    </li>
  );
}

function Back<Item extends AnyItem, Act extends string>(props: {
  readonly view: View;
  readonly kind: SelectedKind<Item, Act>;
}) {
  return (
    <p>
      <a class="button" href={listPath(props.kind.resource)}>
        {props.view.messages.selection.back}
      </a>
    </p>
  );
}
