import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { ApiCall, ApiCalls } from "../../layout/api-call-part.tsx";
import { type FieldProblems, Problem, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { type ListQuery, nameSorts } from "../../layout/list-query.ts";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { Banner, CopyButton, FormSeal, PageHead, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { problemsOf, type RefusedForm, typedIn } from "../../refused-form.ts";
import { may } from "../../session.ts";

type Props = {
  readonly view: View;
  readonly keys: Schemas["SshKeyList"];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  readonly form: { readonly name: string; readonly publicKey: string; readonly idempotencyKey: string };
  readonly problems: FieldProblems;
  /** The renaming that the API did not take. */
  readonly refused: RefusedForm | null;
  readonly banner: PageBanner;
};

export const keyFilters = ["name", "labels"] as const;

export function SshKeysPage(props: Props) {
  const { view, keys, banner, query } = props;
  const { messages, session } = view;
  return (
    <Shell view={view} title={messages.sshKeys.title} section="sshKeys">
      <PageHead title={messages.sshKeys.title} lead={messages.sshKeys.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      <NarrowedList
        view={view}
        page="/ssh-keys"
        list="key-list"
        filters={keyFilters}
        sorts={nameSorts}
        query={query}
        regions={[]}
        selectorProblem={props.selectorProblem}
        empty={{ title: messages.sshKeys.empty, hint: messages.sshKeys.emptyHint }}
        found={keys}
      >
        <KeyTable {...props} />
      </NarrowedList>
      {session !== null && !may(session, "ssh_key:create") ? (
        <p class="hint">{messages.common.notAllowed("ssh_key:create")}</p>
      ) : (
        <AddKey {...props} />
      )}
      <KeyCalls {...props} />
    </Shell>
  );
}

function KeyTable(props: Props) {
  const { view, keys, form } = props;
  const { messages, session } = view;
  const renamable = session === null || may(session, "ssh_key:update");
  const deletable = session === null || may(session, "ssh_key:delete");
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{messages.common.name}</th>
          <th scope="col">{messages.sshKeys.type}</th>
          <th scope="col">{messages.sshKeys.fingerprint}</th>
          <th scope="col">{messages.sshKeys.usedBy}</th>
          <th scope="col">{messages.sshKeys.lastUsed}</th>
          <th scope="col">{messages.common.created}</th>
          <td></td>
        </tr>
      </thead>
      <tbody>
        {keys.items.map((key) => (
          <tr id={key.id}>
            <th scope="row">
              {key.name}
              {renamable ? <RenameKey {...props} id={key.id} name={key.name} /> : null}
            </th>
            <td data-label={messages.sshKeys.type}>
              {key.type} · {key.bits}
            </td>
            <td class="mono breakable" data-label={messages.sshKeys.fingerprint}>
              <span id={`fingerprint-${key.id}`}>{key.fingerprint_sha256}</span>{" "}
              <CopyButton view={view} source={`fingerprint-${key.id}`} />
            </td>
            <td data-label={messages.sshKeys.usedBy}>{messages.sshKeys.servers(key.used_by_server_count)}</td>
            <td data-label={messages.sshKeys.lastUsed}>
              {key.last_used_at === null ? (
                messages.sshKeys.never
              ) : (
                <When view={view} time={key.last_used_at} />
              )}
            </td>
            <td data-label={messages.common.created}>
              <When view={view} time={key.created_at} />
              {key.created_by === null ? null : <span class="hint"> {key.created_by.name}</span>}
            </td>
            <td class="row-act">
              {deletable ? (
                <details class="confirm">
                  <summary class="button" aria-label={messages.sshKeys.deleteNamed(key.name)}>
                    {messages.sshKeys.delete}
                  </summary>
                  <form method="post" action={`/ssh-keys/${key.id}/delete`}>
                    <FormSeal view={view} idempotencyKey={`${form.idempotencyKey}-${key.id}`} />
                    <p>
                      <strong>{messages.sshKeys.deleteQuestion(key.name)}</strong>
                    </p>
                    <p class="hint">{messages.sshKeys.deleteHint}</p>
                    <button type="submit" class="button" data-kind="danger">
                      {messages.sshKeys.delete}
                    </button>
                  </form>
                </details>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RenameKey(props: Props & { readonly id: string; readonly name: string }) {
  const { view, refused, form, id, name } = props;
  const act = `rename-${id}`;
  const problems = problemsOf(refused, act).name;
  return (
    <details class="rename" open={refused?.of === act}>
      <summary aria-label={view.messages.sshKeys.renameNamed(name)}>
        <Icon name="pencil" size={14} />
        {view.messages.sshKeys.rename}
      </summary>
      <form class="label-row" method="post" action={`/ssh-keys/${id}/rename`}>
        <FormSeal view={view} idempotencyKey={`${form.idempotencyKey}-${act}`} />
        <div class="field" data-invalid={problems === undefined ? undefined : "true"}>
          <label for={act}>{view.messages.create.keyName}</label>
          <input
            id={act}
            type="text"
            name="name"
            value={typedIn(refused, act, "name", name)}
            maxlength={100}
            autocomplete="off"
            required
            aria-describedby={problems === undefined ? undefined : `${act}-problem`}
            autofocus={problems !== undefined}
          />
          <Problem name={act} problems={problems} />
        </div>
        <button type="submit" class="button">
          {view.messages.labels.save}
        </button>
      </form>
    </details>
  );
}

/** What the page does with its keys, as calls; with the first one. */
function KeyCalls({ view, keys }: Props) {
  const [key] = keys.items;
  const path = { ssh_key_id: key?.id ?? "" };
  const ofKey: readonly CalledOperation[] =
    key === undefined
      ? []
      : [
          { operation: "updateSshKey", path, body: { name: key.name } },
          { operation: "deleteSshKey", path },
        ];
  return <ApiCalls view={view} calls={[{ operation: "listSshKeys" }, ...ofKey]} />;
}

function AddKey({ view, form, problems }: Props) {
  const { messages } = view;
  return (
    <section class="panel" aria-labelledby="add-title">
      <div class="panel-head">
        <h2 id="add-title">{messages.sshKeys.add}</h2>
      </div>
      <form class="form" method="post" action="/ssh-keys">
        <FormSeal view={view} idempotencyKey={form.idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={messages.create.keyName}
          value={form.name}
          problems={problems}
          required
          maxlength={100}
        />
        <TextField
          view={view}
          name="public_key"
          label={messages.create.keyText}
          value={form.publicKey}
          hint={messages.create.keyTextHint}
          problems={problems}
          rows={4}
          mono
          required
          maxlength={16384}
        />
        <button type="submit" class="button" data-kind="primary">
          {messages.sshKeys.add}
        </button>
      </form>
      <ApiCall
        view={view}
        id="key-call"
        operation="createSshKey"
        body={{ name: "laptop", public_key: "ssh-ed25519 AAAA… ada@laptop" }}
      />
    </section>
  );
}
