import type { Child } from "hono/jsx";
import { formTokenField } from "../csrf.ts";
import { Icon, type IconName } from "./icons.tsx";
import type { View } from "./view.ts";

/** Title of a page with its introduction, the page's main action, and its calls to the API. */
export function PageHead(props: {
  readonly title: string;
  readonly lead?: string;
  /** The drawer with the page's calls. */
  readonly api?: Child;
  readonly children?: Child;
}) {
  const { api, children } = props;
  return (
    <div class="page-head">
      <div>
        <h1>{props.title}</h1>
        {props.lead === undefined ? null : <p class="lead">{props.lead}</p>}
      </div>
      {api === undefined && children === undefined ? null : (
        <div class="page-acts">
          {children}
          {api}
        </div>
      )}
    </div>
  );
}

/** Links from a list to the page that creates one more: a page has one such button. */
export function CreateLink(props: { readonly path: string; readonly children?: Child }) {
  return (
    <a class="button" data-kind="primary" href={props.path}>
      <Icon name="plus" />
      {props.children}
    </a>
  );
}

export type Tone = "good" | "busy" | "idle" | "warning" | "bad";

/** A status as text, with a shape and colour of the same meaning. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children?: Child }) {
  return (
    <span class="status" data-tone={tone}>
      <svg class="status-shape" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
        <StatusShape tone={tone} />
      </svg>
      {children}
    </span>
  );
}

export function StatusShape({ tone }: { readonly tone: Tone }) {
  if (tone === "good") return <circle cx="5" cy="5" r="4.5" />;
  if (tone === "idle") return <circle class="hollow" cx="5" cy="5" r="3.6" />;
  if (tone === "bad") return <path d="M5 .3 9.7 5 5 9.7.3 5z" />;
  if (tone === "warning") return <path d="M5 .6 9.8 9.4H.2z" />;
  return <path d="M5 .5a4.5 4.5 0 0 1 0 9z" />;
}

/** A message that stays: a result, or a reason for a refusal. */
export function Banner(props: {
  readonly kind: "notice" | "warning" | "problem";
  readonly id?: string;
  readonly children?: Child;
}) {
  const icon: IconName = props.kind === "notice" ? "check" : "alert";
  return (
    <div
      class="banner"
      data-kind={props.kind}
      id={props.id}
      role={props.kind === "problem" ? "alert" : "status"}
    >
      <Icon name={icon} />
      <div>{props.children}</div>
    </div>
  );
}

/** Text for use elsewhere, with the button that copies it. */
export function Copyable(props: { readonly view: View; readonly id: string; readonly text: string }) {
  return (
    <span class="copyable">
      <code id={props.id}>{props.text}</code>
      <CopyButton view={props.view} source={props.id} />
    </span>
  );
}

export function CopyButton({ view, source }: { readonly view: View; readonly source: string }) {
  const { copy, copied } = view.messages.common;
  return (
    <button type="button" class="copy" data-copy={source} data-copied={copied} title={copy}>
      <Icon name="copy" size={15} />
      <span class="visually-hidden">{copy}</span>
      <span class="copy-done" aria-hidden="true">
        {copied}
      </span>
    </button>
  );
}

/** Shown in place of an empty list. */
export function EmptyState(props: {
  readonly title: string;
  readonly hint: string;
  readonly children?: Child;
}) {
  return (
    <div class="empty">
      <svg class="empty-drawing" viewBox="0 0 120 70" width="120" height="70" aria-hidden="true">
        <path d="M6 64h108" />
        <path d="M42 64V40h36v24M38 40h44v-6H38zM46 34V20h28v14" stroke-dasharray="3 4" />
        <path d="M60 6 72 20H48z" stroke-dasharray="3 4" />
      </svg>
      <h2>{props.title}</h2>
      <p>{props.hint}</p>
      {props.children}
    </div>
  );
}

/** Links to the next page and to the first; a cursor does not know the previous page. */
export function Pages(props: {
  readonly view: View;
  readonly base: string;
  readonly query: URLSearchParams;
  readonly cursor: string | undefined;
  readonly next: string | null;
}) {
  const { messages } = props.view;
  if (props.cursor === undefined && props.next === null) return null;
  const address = (cursor: string | null) => {
    const query = new URLSearchParams(props.query);
    query.delete("cursor");
    if (cursor !== null) query.set("cursor", cursor);
    return query.size === 0 ? props.base : `${props.base}?${query}`;
  };
  return (
    <nav class="pages" aria-label={messages.common.pages}>
      {props.cursor === undefined ? null : (
        <a class="button" href={address(null)}>
          {messages.common.first}
        </a>
      )}
      {props.next === null ? null : (
        <a class="button" href={address(props.next)} rel="next">
          {messages.common.next}
        </a>
      )}
    </nav>
  );
}

/** A relative time, with the exact time in its title. */
export function When({ view, time }: { readonly view: View; readonly time: string }) {
  return (
    <time data-age="" datetime={time} title={view.format.dateTime(time)}>
      {view.format.relative(time, view.now)}
    </time>
  );
}

/** The fields that every form contains: its token, and for actions the key that makes a repeat harmless. */
export function FormSeal({
  view,
  idempotencyKey,
}: {
  readonly view: View;
  readonly idempotencyKey?: string;
}) {
  return (
    <>
      <input type="hidden" name={formTokenField} value={view.formToken()} />
      {idempotencyKey === undefined ? null : (
        <input type="hidden" name="idempotency_key" value={idempotencyKey} />
      )}
    </>
  );
}
