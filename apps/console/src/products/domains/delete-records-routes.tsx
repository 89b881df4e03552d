import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { refusalOf } from "../../refused-form.ts";
import { DeleteRecordsPage } from "./delete-records-page.tsx";
import type { DeleteRecordsProps } from "./props.ts";
import { changeOptions, domainPage, readTab } from "./read-tab.ts";
import { type RecordKey, readRecordKey, recordTitle } from "./record-key.ts";
import { backTo, shownQuery } from "./shown-query.ts";

type Chosen = RecordKey & { readonly etag: string };
type Shown = Partial<Pick<DeleteRecordsProps, "banner" | "changes" | "typed">>;

/** A form is answered with a page: the number of records is no limit, as it would be in an address. */
const path = "/domains/:domain_id/records/selected";

/** Several record sets at once: what their deletion would change, and the deletion as one change of the zone. */
export function deleteRecordsRoutes(routes: Hono<ConsoleEnv>): void {
  // The address of a preview, loaded again, leads to the page where the records are chosen.
  for (const page of [path, `${path}/delete`])
    routes.get(page, (context) => context.redirect(domainPage(context), 303));

  routes.post(path, (context) => preview(context, {}));

  routes.post(`${path}/delete`, async (context) => {
    const chosen = chosenIn(context);
    const typed = (context.get("form").get("confirm_name") ?? "").trim();
    if (typed !== confirmationOf(chosen)) return preview(context, { typed }, 422);
    const { path, header } = changeOptions(context);
    const outcome = await attempt(
      context.get("api").POST("/domains/{domain_id}/changes", {
        params: { path, header },
        body: {
          changes: chosen.map(({ name, type, etag }) => ({
            op: "delete" as const,
            name,
            type,
            if_match: etag,
          })),
        },
      }),
    );
    if (outcome.kind === "done") return backTo(context, shownQuery(context), "recordsDeleted");
    // Another change came first: this one is looked at again.
    if (conflictOf(outcome).status === 412) {
      const { messages } = context.get("view");
      const text = messages.domains.record.selected.changed;
      return preview(context, { banner: { kind: "warning", text } }, 412);
    }
    return refuse(context, outcome);
  });
}

/** What the form names, in its order; what is no record set is left out. */
function chosenIn(context: ConsoleContext): Chosen[] {
  const form = context.get("form");
  const etags = form.getAll("etags");
  return form.getAll("ids").flatMap((text, at) => {
    const key = readRecordKey(text);
    return key === null ? [] : [{ ...key, etag: etags[at] ?? "*" }];
  });
}

/** What is typed to confirm: the name of the one, or the number of several. */
function confirmationOf(records: readonly RecordKey[]): string {
  const [only] = records;
  return only !== undefined && records.length === 1 ? recordTitle(only) : String(records.length);
}

async function preview(context: ConsoleContext, shown: Shown, status: 200 | 412 | 422 = 200) {
  const chosen = chosenIn(context);
  if (chosen.length === 0) return show(context, shown, 422);
  const { path, header } = changeOptions(context);
  const outcome = await attempt(
    context.get("api").POST("/domains/{domain_id}/changes", {
      params: { path, query: { dry_run: true }, header },
      // Without a condition: one that is gone by now is left out, and the others are shown as they are.
      body: { changes: chosen.map(({ name, type }) => ({ op: "delete" as const, name, type })) },
    }),
  );
  if (outcome.kind !== "done") return refuse(context, outcome);
  const changes = { ...outcome.data, job: null };
  return show(context, { ...shown, changes }, changes.deleted.length === 0 ? 422 : status);
}

function refuse(context: ConsoleContext, outcome: Parameters<typeof conflictOf>[0]) {
  const { banner, status } = refusalOf(conflictOf(outcome), context.get("view"), "selected", {}, {});
  return show(context, { banner }, status);
}

async function show(context: ConsoleContext, shown: Shown, status: 200 | 409 | 412 | 422) {
  const banner: PageBanner = shown.banner ?? null;
  const changes: Schemas["RecordChanges"] = shown.changes ?? nothing;
  return context.html(
    renderPage(
      <DeleteRecordsPage
        {...(await readTab(context, banner, null))}
        query={shownQuery(context)}
        changes={changes}
        confirmation={confirmationOf(changes.deleted)}
        typed={shown.typed ?? null}
      />,
    ),
    status,
  );
}

const nothing: Schemas["RecordChanges"] = {
  dry_run: true,
  created: [],
  changed: [],
  deleted: [],
  left_out: 0,
  job: null,
};
