import type { RequestBody } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { orGone } from "../../form-answer.ts";
import { postedLabel, saidOfLabels, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { askedList, nameSorts, narrowedList, readListQuery } from "../../layout/list-query.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refusalOf, refuseForm } from "../../refused-form.ts";
import { selectedRoutes } from "../selected/selected-routes.tsx";
import { saidOfKey } from "./key-refusal.ts";
import { keyFilters, SshKeysPage } from "./list-page.tsx";
import { selectedSshKeys } from "./selected-ssh-keys.tsx";

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
          public_key: saidOfKey(problem, typed.public_key, messages),
          labels: saidOfLabels(labels, messages),
        },
      },
    );
    return showKeys(context, banner, form, status);
  });

  const changeKey = (context: ConsoleContext, body: RequestBody<"updateSshKey">) =>
    attempt(
      context.get("api").PATCH("/ssh-keys/{ssh_key_id}", {
        params: {
          path: { ssh_key_id: context.req.param("id") ?? "" },
          header: { "Idempotency-Key": postedKey(context) },
        },
        body,
      }),
    );

  routes.post("/ssh-keys/:id/rename", async (context) => {
    const id = context.req.param("id");
    const values = postedValues(context, ["name"]);
    const outcome = await changeKey(context, values);
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=renamed", 303);
    const { form, banner, status } = refuseForm(context, outcome, `rename-${id}`, values, {
      fields: keyFieldOf,
      conflicts: { name_taken: "name" },
    });
    return showKeys(context, banner, form, status);
  });

  routes.post("/ssh-keys/:id/labels", async (context) => {
    const id = context.req.param("id");
    const { labels, notice, values, beside } = postedLabel(context);
    const outcome = await changeKey(context, { labels });
    if (outcome.kind === "done") return context.redirect(`/ssh-keys?notice=${notice}`, 303);
    const { form, banner, status } = refuseForm(context, outcome, `labels-${id}`, values, beside);
    return showKeys(context, banner, form, status);
  });

  routes.post("/ssh-keys/:id/delete", async (context) => {
    const removed = await attempt(
      context.get("api").DELETE("/ssh-keys/{ssh_key_id}", {
        params: {
          path: { ssh_key_id: context.req.param("id") },
          header: { "Idempotency-Key": postedKey(context) },
        },
      }),
    );
    const outcome = orGone(removed);
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=deleted", 303);
    const { banner, status } = refuseForm(context, outcome, "delete", {}, {});
    return showKeys(context, banner, null, status);
  });

  for (const act of ["rename", "labels", "delete"])
    routes.get(`/ssh-keys/:id/${act}`, (context) => context.redirect("/ssh-keys", 303));

  return routes;
}

async function showKeys(
  context: ConsoleContext,
  banner: PageBanner,
  refused: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const view = context.get("view");
  const query = readListQuery(new URL(context.req.url).searchParams, keyFilters, nameSorts);
  const listed = await attempt(
    context
      .get("api")
      .GET("/ssh-keys", { params: { query: askedList(query, rowsOf(view.lists, "ssh_keys")) } }),
  );
  const { list: keys, selectorProblem } = narrowedList(listed, view.messages);
  return context.html(
    renderPage(
      <SshKeysPage
        view={view}
        keys={keys}
        query={query}
        selectorProblem={selectorProblem}
        idempotencyKey={crypto.randomUUID()}
        refused={refused}
        banner={banner}
      />,
    ),
    status,
  );
}
