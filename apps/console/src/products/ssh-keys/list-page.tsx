import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { Offered } from "../../layout/action-button.tsx";
import { Problem } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EditLabels, LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { CopyButton, FormSeal, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { problemsOf, typedIn } from "../../refused-form.ts";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { callsOf, pageOf } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import type { SshKeysPageProps } from "./props.ts";
import { sshKeys } from "./resource.ts";
import { selectedSshKeys } from "./selected.tsx";

type Key = Schemas["SshKey"];

export function SshKeysPage(props: SshKeysPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={sshKeys}
      found={props.keys}
      options={<ListView view={view} list="ssh_keys" columns={keyColumns(view)} />}
      selected={selectedSshKeys}
      mayCreate={session === null || may(session, "ssh_key:create")}
      calls={keyCalls(props)}
    >
      <KeyTable {...props} />
    </ResourceListPage>
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
          <span class="cut" id={`fingerprint-${id}`} title={fingerprint_sha256}>
            {fingerprint_sha256}
          </span>{" "}
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

function KeyTable(props: SshKeysPageProps) {
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
        cell: (key) => (
          <>
            {key.name}
            <LabelTags labels={key.labels} list="/ssh-keys" />
            <Offered view={view} permission="ssh_key:update">
              <div class="row-changes">
                <RenameKey {...props} of={key} />
                <EditLabels
                  view={view}
                  resource={sshKeys}
                  item={key}
                  isOneOfMany
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

function DeleteKey({ view, idempotencyKey, of: key }: SshKeysPageProps & { readonly of: Key }) {
  const { id, name } = key;
  const text = view.messages.sshKeys;
  return (
    <details class="confirm">
      <summary class="button" aria-label={text.deleteNamed(name)}>
        {text.delete}
      </summary>
      <form method="post" action={`${pageOf(sshKeys, key)}/delete`}>
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

function RenameKey(props: SshKeysPageProps & { readonly of: Key }) {
  const { view, refused, idempotencyKey, of: key } = props;
  const { id, name } = key;
  const act = `settings-${id}`;
  const problems = problemsOf(refused, act).name;
  return (
    <details class="rename" open={refused?.of === act}>
      <summary aria-label={view.messages.sshKeys.renameNamed(name)}>
        <Icon name="pencil" size={14} />
        {view.messages.sshKeys.rename}
      </summary>
      <form class="label-row" method="post" action={`${pageOf(sshKeys, key)}/settings`}>
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

/** The actions on a key as calls, of the first one. */
function keyCalls({ keys }: SshKeysPageProps): readonly CalledOperation[] {
  const [key] = keys.items;
  return key === undefined ? [] : Object.values(callsOf(sshKeys, key));
}
