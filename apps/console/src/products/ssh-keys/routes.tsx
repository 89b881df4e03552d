import { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refusalOf } from "../../refused-form.ts";
import { changeRoutes } from "../../resources/change-routes.ts";
import { readList } from "../../resources/read-list.ts";
import { selectedRoutes } from "../selected/routes.tsx";
import { keyErrorText } from "./key-refusal.ts";
import { SshKeysPage } from "./list-page.tsx";
import { sshKeys } from "./resource.ts";
import { selectedSshKeys } from "./selected.tsx";

const keyFields = ["name", "public_key"];

/** The key form's field for a pointer into the body of `POST /ssh-keys`. */
export function keyFieldOf(pointer: string): string | null {
  return keyFields.find((field) => `/${field}` === pointer) ?? null;
}

export function sshKeyRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.route("/", selectedRoutes(selectedSshKeys));
  routes.get("/ssh-keys", (context) => {
    const banner = noticeBanner(context, context.get("view").messages.sshKeys.notices);
    return showKeys(context, banner, null, 200);
  });

  routes.post("/ssh-keys", async (context) => {
    const { labels, ...typed } = postedValues(context, ["labels", "name", "public_key"]);
    const outcome = await attempt(
      context.get("api").POST("/ssh-keys", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: { ...typed, ...typedLabels(labels) },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=added", 303);
    const problem = conflictOf(outcome);
    const view = context.get("view");
    const { messages } = view;
    const { form, banner, status } = refusalOf(
      problem,
      view,
      "add",
      { ...typed, labels },
      {
        fields: ["labels", ...keyFields],
        conflicts: { duplicate_key: "public_key", name_taken: "name" },
        said: {
          public_key: keyErrorText(problem, typed.public_key, messages),
          labels: labelErrorText(labels, messages),
        },
      },
    );
    return showKeys(context, banner, form, status);
  });

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
