import type { Hono } from "hono";
import { attempt } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { MaterialPage } from "./change-material-page.tsx";
import { materialBody } from "./create-values.ts";
import { certificatePage, changeOptions, readTab } from "./read-tab.ts";

/** The page that replaces the certificate and the key of an uploaded certificate. */
export function materialRoutes(routes: Hono<ConsoleEnv>): void {
  const page = "/certificates/:certificate_id/material";
  const answer = answersOf(certificatePage, show);
  routes.get(page, (context) => show(context, null, null, 200));

  routes.post(page, async (context) => {
    // The private key is in no value that a page could show again.
    const values = postedValues(context, ["certificate", "chain"]);
    const { private_key } = postedValues(context, ["private_key"]);
    const outcome = await attempt(
      context.get("api").PUT("/certificates/{certificate_id}/material", {
        params: changeOptions(context),
        body: materialBody(values, private_key),
      }),
    );
    return answer(context, {
      outcome,
      notice: "replaced",
      of: "material",
      values,
      errorPlaces: { fields: ["certificate", "chain", "private_key"] },
    });
  });
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const { session } = context.get("view");
  if (session !== null && !may(session, "certificate:update")) return forbidden(context, []);
  const tab = await readTab(context, banner, form);
  // Nobody has the key of a managed one.
  if (tab.certificate.type === "managed") return context.redirect(certificatePage(context), 303);
  return context.html(renderPage(<MaterialPage {...tab} />), status);
}
