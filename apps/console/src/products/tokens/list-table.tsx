import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { FormSeal, Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";
import { endOf, expiresSoon } from "./expiry.ts";
import type { TokensPageProps } from "./props.ts";

type Token = Schemas["Token"];

const warnedDays = 7;

/** How long the old secret may stay valid after a rotation. */
export const overlapSeconds = { none: 0, hour: 3600, day: 86_400, week: 604_800 } as const;
const overlapNames = Object.keys(overlapSeconds) as (keyof typeof overlapSeconds)[];

export function tokenColumns(view: View): Columns<"tokens", Token> {
  const { messages } = view;
  const text = messages.tokens;
  return {
    role: { label: text.role, cell: ({ role }) => (role === null ? null : messages.roles[role]) },
    scopes: {
      label: text.scopes,
      cell: ({ scopes }) =>
        scopes.length === 0 ? (
          text.everything
        ) : (
          <span class="tags">
            {scopes.map((scope) => (
              <code class="tag">{scope}</code>
            ))}
          </span>
        ),
    },
    status: { label: text.status, cell: (token) => <Standing view={view} token={token} /> },
    last_used: {
      label: text.lastUsed,
      cell: ({ last_used_at }) =>
        last_used_at === null ? text.never : <When view={view} time={last_used_at} />,
    },
    created: {
      label: messages.common.created,
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

export function TokenTable(props: TokensPageProps) {
  const { view, tokens } = props;
  const text = view.messages.tokens;
  const manages = view.session !== null && may(view.session, "token:manage");
  const acts = {
    class: "row-act",
    cell: (token: Token) => (endOf(token, view.now) === null ? <Acts {...props} token={token} /> : null),
  };
  return (
    <ListTable
      view={view}
      list="tokens"
      caption={text.title}
      items={tokens.items}
      name={{
        label: text.name,
        cell: ({ name, prefix, operator_reason: reason }) => (
          <>
            {name}
            <div class="hint mono breakable">{prefix}…</div>
            {reason === null ? null : <div class="hint">{text.enteredBy(reason)}</div>}
          </>
        ),
      }}
      columns={tokenColumns(view)}
      row={(token) => ({ id: token.id, "data-ended": endOf(token, view.now) === null ? undefined : "" })}
      {...(manages ? { acts } : {})}
    />
  );
}

function Standing({ view, token }: { readonly view: View; readonly token: Token }) {
  const text = view.messages.tokens;
  const ended = endOf(token, view.now);
  if (ended !== null) return <Status tone="idle">{text[ended]}</Status>;
  if (token.expires_at === null) return <Status tone="good">{text.valid}</Status>;
  return (
    <Status tone={expiresSoon(token, view.now, warnedDays) ? "warning" : "good"}>
      {text.until} <When view={view} time={token.expires_at} />
    </Status>
  );
}

function Acts({ view, token, idempotencyKey }: TokensPageProps & { readonly token: Token }) {
  const text = view.messages.tokens;
  const path = { token_id: token.id };
  return (
    <div class="act-group">
      <details class="confirm">
        <summary class="button" aria-label={text.rotateOf(token.name)}>
          {text.rotate}
        </summary>
        <form method="post" action={`/tokens/${token.id}/rotate`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-rotate-${token.id}`} />
          <p>
            <strong>{text.rotateLead(token.name)}</strong>
          </p>
          <p class="hint">{text.rotateHint}</p>
          <SelectField
            id={`overlap-${token.id}`}
            name="overlap"
            label={text.overlap}
            value="none"
            options={overlapNames.map((value) => ({ value, label: text.overlaps[value] }))}
            problems={noProblems}
          />
          {view.session?.operator === true ? (
            <TextField
              view={view}
              id={`reason-${token.id}`}
              name="reason"
              label={text.reason}
              hint={text.reasonHint}
              problems={noProblems}
              required
              maxlength={300}
            />
          ) : null}
          <button type="submit" class="button" data-kind="primary">
            {text.rotate}
          </button>
          <ApiCall
            view={view}
            id={`rotate-call-${token.id}`}
            operation="rotateToken"
            path={path}
            body={{
              overlap_seconds: 0,
              ...(view.session?.operator === true ? { reason: "ticket 4711" } : {}),
            }}
          />
        </form>
      </details>
      <details class="confirm">
        <summary class="button" aria-label={text.revokeOf(token.name)}>
          {text.revoke}
        </summary>
        <form method="post" action={`/tokens/${token.id}/revoke`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-revoke-${token.id}`} />
          <p>
            <strong>{text.revokeQuestion(token.name)}</strong>
          </p>
          <p class="hint">{text.revokeHint}</p>
          <button type="submit" class="button" data-kind="danger">
            {text.revoke}
          </button>
          <ApiCall view={view} id={`revoke-call-${token.id}`} operation="revokeToken" path={path} />
        </form>
      </details>
    </div>
  );
}
