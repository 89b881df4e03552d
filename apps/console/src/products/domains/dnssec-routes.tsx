import type { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { refusalOf } from "../../refused-form.ts";
import { changeOptions, domainNotice, domainPage, readTab } from "./read-tab.ts";
import { DnssecPage } from "./show-dnssec-page.tsx";

/** The signing of a domain. */
export function dnssecRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/domains/:domain_id/dnssec";
  routes.get(page, (context) => show(context, domainNotice(context), 200));

  routes.post(page, async (context) => {
    const form = context.get("form");
    const enabled = form.get("enabled") === "yes";
    const outcome = await attempt(
      context.get("api").PUT("/domains/{domain_id}/dnssec", {
        params: changeOptions(context),
        body: { enabled, ...(enabled ? {} : { force: form.has("force") }) },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`${domainPage(context)}/dnssec?notice=${enabled ? "signed" : "unsigned"}`, 303);
    const view = context.get("view");
    const banner: PageBanner =
      outcome.kind === "away"
        ? { kind: "problem", text: view.messages.domains.check.away }
        : refusalOf(conflictOf(outcome), view, "dnssec", {}, {}).banner;
    return show(context, banner, 409);
  });
}

async function show(context: ConsoleContext, banner: PageBanner, status: 200 | 409) {
  return context.html(renderPage(<DnssecPage {...(await readTab(context, banner, null))} />), status);
}
