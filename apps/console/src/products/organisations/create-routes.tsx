import type { Hono } from "hono";
import { attempt } from "../../api.ts";
import { type ConsoleContext, type ConsoleEnv, sessionOf } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { OrganisationCreatePage } from "./create-page.tsx";

export function createOrganisationRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/organisations/new", (context) => showCreate(context, null, null, 200));

  routes.post("/organisations/new", async (context) => {
    const values = postedValues(context, ["name", "slug"]);
    const outcome = await attempt(
      context.get("api").POST("/organisations", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: values,
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/organisations/${outcome.data.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "create", values, {
      fields: ["name", "slug"],
      conflicts: { name_taken: "slug" },
    });
    return showCreate(context, form, banner, status);
  });
}

function showCreate(
  context: ConsoleContext,
  form: RefusedForm | null,
  banner: PageBanner,
  status: 200 | 409 | 422,
) {
  // The form reads nothing from the API, which would refuse it.
  if (!sessionOf(context).operator) return forbidden(context, []);
  return context.html(
    renderPage(
      <OrganisationCreatePage
        view={context.get("view")}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
