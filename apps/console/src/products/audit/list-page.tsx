import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { SelectField, TextField } from "../../layout/fields.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { EmptyState, PageHead, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { actionOptions } from "./action-text.ts";
import { addressOf, outcomes } from "./list-query.ts";
import { AuditTable, auditColumns, withoutOrganisation } from "./list-table.tsx";
import type { AuditPageProps } from "./props.ts";

export function AuditPage(props: AuditPageProps) {
  const { view, scope, entries, query } = props;
  const text = view.messages.audit;
  const base = scope === "organisation" ? "/audit" : "/operator/audit";
  return (
    <Shell
      view={view}
      title={text.title}
      section={scope === "organisation" ? "audit" : "operator"}
      {...(scope === "organisation" ? {} : { crumbs: operatorCrumbs(view) })}
    >
      {scope === "organisation" ? null : <OperatorTabs view={view} current="audit" />}
      <PageHead
        title={text.title}
        lead={scope === "organisation" ? text.lead : text.leadAll}
        api={<ApiDrawer view={view} calls={[{ operation: "listAudit", query: props.asked }]} />}
      >
        <ListView
          view={view}
          list="audit"
          columns={auditColumns({ view, query, base })}
          without={scope === "organisation" ? withoutOrganisation : []}
        />
      </PageHead>
      <Filters {...props} base={base} />
      {entries.items.length === 0 ? (
        <EmptyState title={text.empty} hint={text.emptyHint} />
      ) : (
        <AuditTable
          view={view}
          entries={entries.items}
          query={query}
          base={base}
          showsOrganisation={scope === "installation"}
        />
      )}
      <Pages
        view={view}
        base={base}
        query={addressOf(query)}
        cursor={props.cursor}
        next={entries.next_cursor}
      />
    </Shell>
  );
}

function Filters(props: AuditPageProps & { readonly base: string }) {
  const { view, query, members, problems, base } = props;
  const { audit: text, common } = view.messages;
  const known = actionOptions(view.messages);
  const isKnown = query.action === "" || known.some(({ value }) => value === query.action);
  const isMember = members.some(({ user }) => user.id === query.actor);
  return (
    <form class="audit-filters" method="get" action={base}>
      {members.length === 0 ? null : (
        <SelectField
          name="actor"
          label={text.who}
          value={isMember ? query.actor : ""}
          prompt={text.anyone}
          options={members.map(({ user }) => ({ value: user.id, label: user.name }))}
          problems={problems}
        />
      )}
      <TextField
        view={view}
        name="actor_id"
        label={members.length === 0 ? text.actorAlone : text.actorId}
        value={isMember ? "" : query.actor}
        problems={problems}
        mono
        maxlength={100}
        attributes={{ placeholder: "tok_…" }}
      />
      <SelectField
        name="action"
        label={text.action}
        value={query.action}
        prompt={text.anyAction}
        options={isKnown ? known : [{ value: query.action, label: query.action }, ...known]}
        problems={problems}
      />
      <TextField
        view={view}
        name="resource"
        label={text.resource}
        value={query.resource}
        problems={problems}
        mono
        maxlength={100}
        attributes={{ placeholder: "srv_…" }}
      />
      <SelectField
        name="outcome"
        label={text.outcome}
        value={query.outcome}
        prompt={text.anyOutcome}
        options={outcomes.map((value) => ({ value, label: text.outcomes[value] }))}
        problems={problems}
      />
      <TimeField {...props} name="from" label={text.from} />
      <TimeField {...props} name="to" label={text.to} />
      <div class="audit-acts">
        <button type="submit" class="button" data-kind="primary">
          {common.apply}
        </button>
        <a class="button" href={base}>
          {text.reset}
        </a>
      </div>
    </form>
  );
}

function TimeField(props: AuditPageProps & { readonly name: "from" | "to"; readonly label: string }) {
  const { name, label, query } = props;
  const problems = props.problems[name];
  return (
    <div class="field" data-invalid={problems === undefined ? undefined : "true"}>
      <label for={`field-${name}`}>{label}</label>
      <input
        id={`field-${name}`}
        name={name}
        type="datetime-local"
        value={query[name]}
        aria-invalid={problems === undefined ? undefined : "true"}
        aria-describedby={problems === undefined ? undefined : `${name}-problem`}
      />
      {problems === undefined ? null : (
        <p class="problem" id={`${name}-problem`}>
          {problems.join(" ")}
        </p>
      )}
    </div>
  );
}
