import type { Hono } from "hono";
import { attempt } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf, doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { readItem } from "../../resources/call-operation.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { changeOptions, domainIds, domainNotice, domainPage, readTab } from "./read-tab.ts";
import { domains } from "./resource.ts";
import { SettingsPage } from "./show-settings-page.tsx";

/** A domain's settings, its repair, and its deletion with the way back. */
export function settingsRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/domains/:domain_id";
  const settings = (context: ConsoleContext) => `${domainPage(context)}/settings`;
  const answer = answersOf(settings, show);
  routes.get(`${page}/settings`, (context) => show(context, domainNotice(context), null, 200));
  changeRoutes(routes, domains, { show, changed: "changed" });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["apply", "delete", "purge", "cancel-deletion"])
    routes.get(`${page}/${act}`, (context) => context.redirect(settings(context), 303));

  routes.post(`${page}/apply`, async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/domains/{domain_id}/apply", { params: changeOptions(context) }),
    );
    return answer(context, { outcome, notice: "applied", of: "apply" });
  });

  routes.post(`${page}/cancel-deletion`, async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/domains/{domain_id}/cancel-deletion", { params: changeOptions(context) }),
    );
    return answer(context, { outcome, notice: "restored", of: "cancel-deletion" });
  });

  for (const act of ["delete", "purge"] as const)
    routes.post(`${page}/${act}`, async (context) => {
      const api = context.get("api");
      const values = postedValues(context, ["confirm_name"]);
      const { unicode_name } = await readItem(api, domains, domainIds(context));
      if (values.confirm_name !== unicode_name) {
        const problems = { confirm_name: [context.get("view").messages.common.confirmMismatch] };
        return show(context, null, { of: act, values, problems }, 422);
      }
      const outcome = doneIfAbsent(
        await attempt(
          api.DELETE("/domains/{domain_id}", {
            params: { ...changeOptions(context), ...(act === "purge" ? { query: { purge: true } } : {}) },
          }),
        ),
      );
      if (outcome.kind === "done") {
        // One that was not served is gone at once, without a body in the answer.
        const isGone = !outcome.data;
        const notice = act === "purge" ? "purged" : isGone ? "gone" : "deleted";
        return context.redirect(`/domains?notice=${notice}`, 303);
      }
      const errorPlaces = { everything: "confirm_name" };
      return answer(context, { outcome, notice: "deleted", of: act, values, errorPlaces });
    });
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  return context.html(renderPage(<SettingsPage {...(await readTab(context, banner, form))} />), status);
}
