import type { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { refusalOf } from "../../refused-form.ts";
import type { DelegationProps } from "./props.ts";
import { changeOptions, domainIds, domainNotice, domainPage, readTab } from "./read-tab.ts";
import { DelegationPage } from "./show-delegation-page.tsx";

/** How a domain is proven and delegated, and a check of it. */
export function delegationRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/domains/:domain_id/delegation";
  routes.get(page, async (context) => {
    if (context.req.query("check") !== "now") return show(context, domainNotice(context), null, 200);
    const outcome = await attempt(
      context.get("api").GET("/domains/{domain_id}/check", { params: { path: domainIds(context) } }),
    );
    return outcome.kind === "done"
      ? show(context, null, outcome.data, 200)
      : show(context, bannerOf(context, outcome), null, 409);
  });
  routes.get("/domains/:domain_id/verify", (context) =>
    context.redirect(`${domainPage(context)}/delegation`, 303),
  );

  routes.post("/domains/:domain_id/verify", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/domains/{domain_id}/verify", { params: changeOptions(context) }),
    );
    if (outcome.kind === "done")
      return context.redirect(`${domainPage(context)}/delegation?notice=verified`, 303);
    return show(context, bannerOf(context, outcome), null, 409);
  });
}

/** Without an answer of the Internet's name servers the domain's page is still there. */
function bannerOf(context: ConsoleContext, outcome: Parameters<typeof conflictOf>[0]): PageBanner {
  const view = context.get("view");
  if (outcome.kind === "away") return { kind: "problem", text: view.messages.domains.check.away };
  return refusalOf(conflictOf(outcome), view, "verify", {}, {}).banner;
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  check: DelegationProps["check"],
  status: 200 | 409,
) {
  const tab = await readTab(context, banner, null);
  return context.html(renderPage(<DelegationPage {...tab} check={check} />), status);
}
