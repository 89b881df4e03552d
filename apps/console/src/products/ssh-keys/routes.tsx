import { Hono } from "hono";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { createSshKeyRoutes } from "./create-routes.tsx";
import { SshKeysPage } from "./list-page.tsx";
import { sshKeys } from "./resource.ts";
import { selectedSshKeys } from "./selected.tsx";

export function sshKeyRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.route("/", selectedRoutes(selectedSshKeys));
  routes.get("/ssh-keys", (context) => {
    const banner = noticeBanner(context, context.get("view").messages.sshKeys.notices);
    return showKeys(context, banner, null, 200);
  });

  createSshKeyRoutes(routes);
  changeRoutes(routes, sshKeys, {
    show: showKeys,
    pathOf: () => "/ssh-keys",
    formNamed: (form, { req }) => `${form}-${req.param("ssh_key_id")}`,
    changed: "renamed",
    deleted: { pathOf: () => "/ssh-keys", notice: "deleted" },
  });

  return routes;
}

async function showKeys(
  context: ConsoleContext,
  banner: PageBanner,
  refused: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const view = context.get("view");
  const { list: keys, ...listed } = await readList(context, sshKeys);
  return context.html(
    renderPage(
      <SshKeysPage
        view={view}
        keys={keys}
        {...listed}
        idempotencyKey={crypto.randomUUID()}
        refused={refused}
        banner={banner}
      />,
    ),
    status,
  );
}
