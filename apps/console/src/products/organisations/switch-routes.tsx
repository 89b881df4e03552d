import { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { doneIfAbsent } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import { refuseForm } from "../../refused-form.ts";
import { SwitchPage } from "./switch-page.tsx";
import { switchTo } from "./switch-to.ts";

export function switchRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  routes.get("/switch-organisation", (context) =>
    showOrganisations(context, noticeBanner(context, context.get("view").messages.organisation.notices)),
  );
  routes.post("/switch-organisation", (context) =>
    switchTo(context, services, context.get("form").get("organisation_id") ?? ""),
  );
  routes.post("/leave-organisation", async (context) => {
    const id = context.get("form").get("organisation_id") ?? "";
    const outcome = doneIfAbsent(
      await attempt(
        context.get("api").DELETE("/me/organisations/{organisation_id}", {
          params: { path: { organisation_id: id }, header: { "Idempotency-Key": postedKey(context) } },
        }),
      ),
    );
    if (outcome.kind === "done")
      // A person who was removed from this session's organisation is signed out by the next page.
      return context.redirect("/switch-organisation?notice=left", 303);
    const { banner, status } = refuseForm(context, outcome, "leave", {}, {});
    return showOrganisations(context, banner, status);
  });
  routes.get("/leave-organisation", (context) => context.redirect("/switch-organisation", 303));
  return routes;
}

async function showOrganisations(
  context: ConsoleContext,
  banner: PageBanner,
  status: 200 | 409 | 422 = 200,
): Promise<Response> {
  const { items } = await read(context.get("api").GET("/me/organisations"));
  const view = context.get("view");
  return context.html(
    renderPage(
      <SwitchPage view={view} organisations={items} banner={banner} idempotencyKey={crypto.randomUUID()} />,
    ),
    status,
  );
}
