import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { Offered } from "../../layout/act-button.tsx";
import { ApiCall, ApiCalls } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EditLabels, LabelTags } from "../../layout/labels.tsx";
import { type ListQuery, listParameters, nameSorts } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { CopyButton, FormSeal, PageHead, ToForm, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { problemsOf, type RefusedForm, refusedForm, typedIn } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { SelectionBar, selectColumn } from "../selected/selection.tsx";
import { selectedSshKeys } from "./selected-ssh-keys.tsx";

type Key = Schemas["SshKey"];

type Props = {
  readonly view: View;
  readonly keys: Schemas["SshKeyList"];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  readonly idempotencyKey: string;
  /** The form that the API did not take: `add`, or an act with the key's id, such as `rename-key_1`. */
  readonly refused: RefusedForm | null;
  readonly banner: PageBanner;
};

export const keyFilters = ["name", "labels"] as const;

export function SshKeysPage(props: Props) {
  const { view, keys, banner, query } = props;
  const { messages, session } = view;
  const mayAdd = session === null || may(session, "ssh_key:create");
  return (
    <Shell view={view} title={messages.sshKeys.title} section="sshKeys">
      <PageHead title={messages.sshKeys.title} lead={messages.sshKeys.lead}>
        {mayAdd ? <ToForm form="add-title">{messages.sshKeys.add}</ToForm> : null}
      </PageHead>
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page="/ssh-keys"
        list="key-list"
        filters={keyFilters}
        sorts={nameSorts}
        query={query}
        regions={[]}
        selectorProblem={props.selectorProblem}
        empty={{
          title: messages.sshKeys.empty,
          hint: messages.sshKeys.emptyHint,
          begin: mayAdd ? { form: "add-title", text: messages.sshKeys.add } : null,
        }}
        found={keys}
        options={<ListView view={view} list="ssh_keys" columns={keyColumns(view)} />}
      >
        <KeyTable {...props} />
      </NarrowedList>
      <SelectionBar view={view} kind={selectedSshKeys} items={keys.items} />
      {mayAdd ? <AddKey {...props} /> : null}
      <KeyCalls {...props} />
    </Shell>
  );
}

function keyColumns(view: View): Columns<"ssh_keys", Key> {
  const { messages } = view;
  const text = messages.sshKeys;
  return {
    type: { label: text.type, cell: ({ type, bits }) => `${type} · ${bits}` },
    fingerprint: {
      label: text.fingerprint,
      class: "mono breakable",
      cell: ({ id, fingerprint_sha256 }) => (
        <>
          <span id={`fingerprint-${id}`}>{fingerprint_sha256}</span>{" "}
          <CopyButton view={view} source={`fingerprint-${id}`} />
        </>
      ),
    },
    used_by: {
      label: text.usedBy,
      cell: ({ used_by_server_count }) => text.servers(used_by_server_count),
    },
    last_used: {
      label: text.lastUsed,
      cell: ({ last_used_at }) =>
        last_used_at === null ? text.never : <When view={view} time={last_used_at} />,
    },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at, created_by }) => (
        <>
          <When view={view} time={created_at} />
          {created_by === null ? null : <span class="hint"> {created_by.name}</span>}
        </>
      ),
    },
  };
}

function KeyTable(props: Props) {
  const { view, keys, query } = props;
  const { messages, session } = view;
  const deletable = session === null || may(session, "ssh_key:delete");
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedSshKeys)}
      list="ssh_keys"
      items={keys.items}
      name={{
        label: messages.common.name,
        sort: "name",
        cell: ({ id, name, labels }) => (
          <>
            {name}
            <LabelTags labels={labels} list="/ssh-keys" />
            <Offered view={view} permission="ssh_key:update">
              <div class="row-changes">
                <RenameKey {...props} id={id} name={name} />
                <EditLabels
                  view={view}
                  action={`/ssh-keys/${id}/labels`}
                  of={`labels-${id}`}
                  name={name}
                  labels={labels}
                  why={null}
                  form={props.refused}
                  idempotencyKey={props.idempotencyKey}
                />
              </div>
            </Offered>
          </>
        ),
      }}
      columns={keyColumns(view)}
      sorted={{ page: "/ssh-keys", parameters: listParameters(query), sort: query.sort }}
      row={({ id }) => ({ id })}
      acts={{
        class: "row-act",
        cell: (key) => (deletable ? <DeleteKey {...props} of={key} /> : null),
      }}
    />
  );
}

function DeleteKey({ view, idempotencyKey, of: { id, name } }: Props & { readonly of: Key }) {
  const text = view.messages.sshKeys;
  return (
    <details class="confirm">
      <summary class="button" aria-label={text.deleteNamed(name)}>
        {text.delete}
      </summary>
      <form method="post" action={`/ssh-keys/${id}/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${id}`} />
        <p>
          <strong>{text.deleteQuestion(name)}</strong>
        </p>
        <p class="hint">{text.deleteHint}</p>
        <button type="submit" class="button" data-kind="danger">
          {text.delete}
        </button>
      </form>
    </details>
  );
}

function RenameKey(props: Props & { readonly id: string; readonly name: string }) {
  const { view, refused, idempotencyKey, id, name } = props;
  const act = `rename-${id}`;
  const problems = problemsOf(refused, act).name;
  return (
    <details class="rename" open={refused?.of === act}>
      <summary aria-label={view.messages.sshKeys.renameNamed(name)}>
        <Icon name="pencil" size={14} />
        {view.messages.sshKeys.rename}
      </summary>
      <form class="label-row" method="post" action={`/ssh-keys/${id}/rename`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${act}`} />
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
          { operation: "updateSshKey", path, body: { name: key.name, labels: key.labels } },
          { operation: "deleteSshKey", path },
        ];
  return <ApiCalls view={view} calls={[{ operation: "listSshKeys" }, ...ofKey]} />;
}

function AddKey({ view, refused, idempotencyKey }: Props) {
  const { messages } = view;
  const form = refusedForm(refused, "add");
  const problems = form?.problems ?? noProblems;
  return (
    <section class="panel" aria-labelledby="add-title">
      <div class="panel-head">
        <h2 id="add-title">{messages.sshKeys.add}</h2>
      </div>
      <form class="form" method="post" action="/ssh-keys">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={messages.create.keyName}
          value={form?.values.name ?? ""}
          problems={problems}
          required
          maxlength={100}
        />
        <TextField
          view={view}
          name="public_key"
          label={messages.create.keyText}
          value={form?.values.public_key ?? ""}
          hint={messages.create.keyTextHint}
          problems={problems}
          rows={4}
          mono
          required
          maxlength={16384}
        />
        <MoreFields view={view} id="more-key" form={form} fields={["labels"]}>
          <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
        </MoreFields>
        <button type="submit" class="button" data-kind="primary">
          {messages.sshKeys.add}
        </button>
      </form>
      <ApiCall
        view={view}
        id="key-call"
        operation="createSshKey"
        body={{ name: "laptop", public_key: "ssh-ed25519 AAAA… ada@laptop", labels: { team: "ops" } }}
      />
    </section>
  );
}
