import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { PublicIpTabProps } from "./props.ts";
import { publicIps } from "./resource.ts";
import { OverviewPage, SettingsPage } from "./show-page.tsx";

/** One address: its tabs, and the forms on them. */
export function publicIpPageRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/public-ips/:public_ip_id", (context) => showOverview(context, banner(context), null, 200));
  routes.get("/public-ips/:public_ip_id/settings", (context) =>
    showSettings(context, banner(context), null, 200),
  );
  changeRoutes(routes, publicIps, {
    show: showSettings,
    changed: "changed",
    deleted: { pathOf: () => "/public-ips", notice: "released" },
  });
  // The address of a refused form, loaded again, leads to the page that contains the form.
  for (const act of ["attach", "detach"])
    routes.get(`/public-ips/:public_ip_id/${act}`, (context) => context.redirect(pathOf(context), 303));

  routes.post("/public-ips/:public_ip_id/attach", async (context) => {
    const form = context.get("form");
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/attach", {
        params: targetOf(context),
        body: { server_id: form.get("server_id") ?? "", force: form.has("force") },
      }),
    );
    return answer(context, { outcome, notice: "attaching", of: "attach" });
  });

  routes.post("/public-ips/:public_ip_id/detach", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/public-ips/{public_ip_id}/detach", { params: targetOf(context) }),
    );
    return answer(context, { outcome, notice: "detaching", of: "detach" });
  });
}

const idsIn = (context: ConsoleContext) => ({ public_ip_id: context.req.param("public_ip_id") ?? "" });

const targetOf = (context: ConsoleContext) => ({
  path: idsIn(context),
  header: { "Idempotency-Key": postedKey(context) },
});

const pathOf = (context: ConsoleContext) => `/public-ips/${context.req.param("public_ip_id")}`;

const banner = (context: ConsoleContext) =>
  noticeBanner(context, context.get("view").messages.publicIps.notices);

const answer = answersOf(pathOf, showOverview);

async function showOverview(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const props = await tabProps(context, banner, form);
  const { region } = props.ip;
  // Many servers take several requests at each refresh, so they are read only for roles that can choose one.
  const servers =
    disabledReason(props, "attach") === null
      ? await readAll((page) =>
          api.GET("/servers", {
            params: { query: { ...page, region, sort: "name", status: ["running", "stopped"] } },
          }),
        )
      : { items: [] };
  return context.html(renderPage(<OverviewPage {...props} servers={servers.items} />), status);
}

async function showSettings(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  return context.html(renderPage(<SettingsPage {...(await tabProps(context, banner, form))} />), status);
}

/** @throws ApiRefused when the session sees no such address */
async function tabProps(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
): Promise<PublicIpTabProps> {
  const path = idsIn(context);
  const ip = await read(context.get("api").GET("/public-ips/{public_ip_id}", { params: { path } }));
  return { view: context.get("view"), ip, form, banner, idempotencyKey: crypto.randomUUID() };
}
