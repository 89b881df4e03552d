import type { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { renderPage } from "../../layout/document.tsx";
import { refusalOf } from "../../refused-form.ts";
import { readItem } from "../../resources/call-operation.ts";
import { may } from "../../session.ts";
import { fileProblems } from "./file-problems.ts";
import { ImportPage } from "./import-page.tsx";
import type { ImportProps } from "./props.ts";
import { changeOptions, domainNotice, domainPage, readTab } from "./read-tab.ts";
import { domains } from "./resource.ts";

type Typed = ImportProps["typed"];
type Shown = Partial<
  Pick<ImportProps, "banner" | "form" | "typed" | "preview" | "problems" | "moreProblems">
>;

const nothing: Typed = { zoneFile: "", mode: "merge" };

/** A zone file in two steps: what it would change, and the change. */
export function importRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/domains/:domain_id/import";
  routes.get(page, (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "domain_record:update")) return forbidden(context, []);
    return show(context, { banner: domainNotice(context) }, 200);
  });
  routes.get(`${page}/apply`, (context) => context.redirect(`${domainPage(context)}/import`, 303));

  routes.post(page, (context) => preview(context, {}));

  routes.post(`${page}/apply`, async (context) => {
    const typed = typedIn(context);
    const { path, header } = changeOptions(context);
    const generation = context.get("form").get("generation") ?? "";
    const outcome = await attempt(
      context.get("api").POST("/domains/{domain_id}/zone-file", {
        params: { path, header: { ...header, "If-Match": `"g${generation}"` } },
        body: bodyOf(typed),
      }),
    );
    if (outcome.kind === "done") return context.redirect(`${domainPage(context)}?notice=imported`, 303);
    // Another change came first: this one is looked at again.
    if (conflictOf(outcome).status === 412) {
      const { messages } = context.get("view");
      return preview(context, { banner: { kind: "warning", text: messages.domains.import.changed } }, 412);
    }
    return refuse(context, outcome, typed);
  });
}

/** Taken as it was typed: spaces at the beginning of a line have a meaning. */
function typedIn(context: ConsoleContext): Typed {
  const form = context.get("form");
  return {
    zoneFile: form.get("zone_file") ?? "",
    mode: form.get("mode") === "replace" ? "replace" : "merge",
  };
}

const bodyOf = ({ zoneFile, mode }: Typed) => ({ zone_file: zoneFile, mode });

async function preview(context: ConsoleContext, shown: Shown, status: 200 | 412 = 200) {
  const typed = typedIn(context);
  const { path, header } = changeOptions(context);
  // Read before the preview: a change in between makes the confirmation stale, and not the preview wrong.
  const { generation } = await readItem(context.get("api"), domains, path);
  const outcome = await attempt(
    context.get("api").POST("/domains/{domain_id}/zone-file", {
      params: { path, query: { dry_run: true }, header },
      body: bodyOf(typed),
    }),
  );
  if (outcome.kind === "done")
    return show(context, { ...shown, typed, preview: { ...outcome.data, job: null, generation } }, status);
  return refuse(context, outcome, typed);
}

function refuse(context: ConsoleContext, outcome: Parameters<typeof conflictOf>[0], typed: Typed) {
  const view = context.get("view");
  const problem = conflictOf(outcome);
  const problems = fileProblems(problem, view.messages, typed.zoneFile);
  const moreProblems = problem.errors_left_out ?? 0;
  if (problems.length > 0) return show(context, { typed, problems, moreProblems }, 422);
  const { banner, form, status } = refusalOf(problem, view, "import", {}, { fields: ["zone_file"] });
  return show(context, { typed, banner, form }, status);
}

async function show(context: ConsoleContext, shown: Shown, status: 200 | 409 | 412 | 422) {
  const tab = await readTab(context, shown.banner ?? null, shown.form ?? null);
  return context.html(
    renderPage(
      <ImportPage
        {...tab}
        typed={shown.typed ?? nothing}
        preview={shown.preview ?? null}
        problems={shown.problems ?? []}
        moreProblems={shown.moreProblems ?? 0}
      />,
    ),
    status,
  );
}
