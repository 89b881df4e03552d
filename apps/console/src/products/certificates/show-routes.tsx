import type { Hono } from "hono";
import { attempt, readAll, unlessTooMany } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { listPath } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { certificateIds, certificateNotice, certificatePage, changeOptions, readTab } from "./read-tab.ts";
import { certificates } from "./resource.ts";
import { OverviewPage } from "./show-page.tsx";
import { SettingsPage } from "./show-settings-page.tsx";

/** One certificate: its overview and its settings, and the forms on them. */
export function showRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/certificates/:certificate_id";
  routes.get(page, (context) => showOverview(context, certificateNotice(context), null, 200));
  routes.get(`${page}/settings`, (context) => showSettings(context, certificateNotice(context), null, 200));
  changeRoutes(routes, certificates, {
    show: showSettings,
    changed: "changed",
    deleted: { pathOf: () => listPath(certificates), notice: "deleted" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  routes.get(`${page}/renew`, (context) => context.redirect(certificatePage(context), 303));

  routes.post(`${page}/renew`, async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/certificates/{certificate_id}/renew", { params: changeOptions(context) }),
    );
    return answersOf(certificatePage, showOverview)(context, { outcome, notice: "renewing", of: "renew" });
  });
}

async function showOverview(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const { session } = context.get("view");
  const tab = await readTab(context, banner, form);
  const { type, used_by } = tab.certificate;
  const mayRead = session === null || may(session, "load_balancer:read");
  const [challenges, balancers] = await Promise.all([
    type === "managed"
      ? unlessTooMany(
          api.GET("/certificates/{certificate_id}/challenges", { params: { path: certificateIds(context) } }),
        )
      : { items: [] },
    used_by.length > 0 && mayRead
      ? readAll((page) => api.GET("/load-balancers", { params: { query: page } }))
      : { items: [] },
  ]);
  return context.html(
    renderPage(<OverviewPage {...tab} challenges={challenges?.items ?? null} balancers={balancers.items} />),
    status,
  );
}

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  return context.html(renderPage(<SettingsPage {...(await readTab(context, banner, form))} />), status);
}
