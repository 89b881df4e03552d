import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { ApiAway, ApiRefused, attempt, conflictOf, read, readAll, readOrNull } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedValues } from "../../posted-form.ts";
import { type RefusedForm, refusalOf } from "../../refused-form.ts";
import { disabledReason } from "./disabled-reason.ts";
import { changeOptions, domainIds, domainNotice, domainPage, readTab } from "./read-tab.ts";
import { recordProblems } from "./record-problems.ts";
import { isRecordType, type RecordQuery, readRecordQuery } from "./record-query.ts";
import { followedServer, type RecordValues, recordFields } from "./record-values.ts";
import { sendRecord } from "./send-record.ts";
import { RecordsPage } from "./show-page.tsx";
import { backTo, shownQuery } from "./shown-query.ts";

/** Rows of a page of records. */
const rows = 100;

/** The records of a domain: the table, and the form that adds, changes and deletes one. */
export function recordRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/domains/:domain_id";
  routes.get(page, (context) =>
    show(context, domainNotice(context), null, readRecordQuery(new URL(context.req.url).searchParams), 200),
  );
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const form of ["/records", "/records/change", "/records/delete"])
    routes.get(`${page}${form}`, (context) => context.redirect(domainPage(context), 303));

  routes.post(`${page}/records`, (context) => save(context, null));
  routes.post(`${page}/records/change`, (context) => save(context, editedIn(context)));

  routes.post(`${page}/records/delete`, async (context) => {
    const edited = editedIn(context);
    const outcome = doneIfAbsent(
      await attempt(
        context.get("api").DELETE("/domains/{domain_id}/records/{record_name}/{record_type}", {
          params: {
            path: { ...domainIds(context), record_name: edited.name, record_type: edited.type },
            header: { ...changeOptions(context).header, "If-Match": edited.etag },
          },
        }),
      ),
    );
    const query = shownQuery(context);
    if (outcome.kind === "done") return backTo(context, query, "recordDeleted");
    return refused(context, outcome, { ...query, editing: edited }, postedValues(context, recordFields));
  });

  routes.get(`${page}/zone-file`, async (context) => {
    const outcome = await attempt(
      context.get("api").GET("/domains/{domain_id}/zone-file", {
        params: { path: domainIds(context) },
        parseAs: "stream",
        signal: context.req.raw.signal,
      }),
    );
    if (outcome.kind === "away") throw new ApiAway("the API does not answer", outcome.requestId);
    if (outcome.kind === "refused") throw new ApiRefused(outcome.problem);
    return new Response(outcome.data as ReadableStream<Uint8Array>, {
      headers: {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Disposition": `attachment; filename="${domainIds(context).domain_id}.zone"`,
        "Cache-Control": "no-store",
      },
    });
  });
}

type Edited = { readonly name: string; readonly type: Schemas["RecordType"]; readonly etag: string };

/** The record set that the form was opened for. */
function editedIn(context: ConsoleContext): Edited {
  const { of_name, of_type, etag } = postedValues(context, ["of_name", "of_type", "etag"]);
  return { name: of_name === "" ? "@" : of_name, type: isRecordType(of_type) ? of_type : "A", etag };
}

async function save(context: ConsoleContext, edited: Edited | null) {
  const values = postedValues(context, recordFields);
  const outcome = await sendRecord(context, values, edited);
  const query = shownQuery(context);
  if (outcome.kind === "done") return backTo(context, query, "recordSaved");
  const open = edited === null ? { isAdding: true } : { editing: { name: edited.name, type: edited.type } };
  return refused(context, outcome, { ...query, ...open }, values);
}

/** The form again, with the reason in it. */
async function refused(
  context: ConsoleContext,
  outcome: Exclude<Awaited<ReturnType<typeof sendRecord>>, { readonly kind: "done" }>,
  query: RecordQuery,
  values: RecordValues,
) {
  const view = context.get("view");
  const text = view.messages.domains.record;
  const problem = conflictOf(outcome);
  const again = (banner: PageBanner, problems: RefusedForm["problems"], status: 409 | 412 | 422) =>
    show(context, banner, { of: "record", values, problems }, query, status);
  if (problem.status === 412)
    return query.isAdding
      ? again(null, { name: [text.exists] }, 412)
      : // The form has the new version: saving again overwrites it deliberately.
        again({ kind: "warning", text: text.changed }, noProblems, 412);
  if (problem.status === 422) {
    const { fields, rest } = recordProblems(problem, view.messages, values);
    return again(rest.length === 0 ? null : { kind: "problem", text: rest.join(" ") }, fields, 422);
  }
  return again(refusalOf(problem, view, "record", values, {}).banner, noProblems, 409);
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  query: RecordQuery,
  status: 200 | 409 | 412 | 422,
) {
  const api = context.get("api");
  const path = domainIds(context);
  const { q, type, cursor, editing } = query;
  const [tab, records, edited] = await Promise.all([
    readTab(context, banner, form),
    read(
      api.GET("/domains/{domain_id}/records", {
        params: {
          path,
          query: {
            limit: rows,
            ...(q === "" ? {} : { q }),
            ...(type === "" ? {} : { type: [type] }),
            ...(cursor === undefined ? {} : { cursor }),
          },
        },
      }),
    ),
    editing === null
      ? null
      : readOrNull(
          api.GET("/domains/{domain_id}/records/{record_name}/{record_type}", {
            params: { path: { ...path, record_name: editing.name, record_type: editing.type } },
          }),
        ),
  ]);
  // One that somebody has deleted by now can be added again with what was typed.
  const isOffered = disabledReason(tab.view, tab.domain, "change") === null;
  const isAdding = isOffered && (query.isAdding || (editing !== null && edited === null && form !== null));
  const needsServers =
    (isOffered && (isAdding || edited !== null)) ||
    records.items.some((each) => followedServer(each) !== null);
  const servers = needsServers
    ? await readAll((page) => api.GET("/servers", { params: { query: { ...page, sort: "name" } } }))
    : { items: [] };
  return context.html(
    renderPage(
      <RecordsPage
        {...tab}
        query={{ ...query, isAdding }}
        records={records}
        edited={isAdding || !isOffered ? null : edited}
        servers={servers.items}
      />,
    ),
    status,
  );
}
