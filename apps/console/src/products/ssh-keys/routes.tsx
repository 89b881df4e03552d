import { type Context, Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleEnv } from "../../console-context.ts";
import { orGone } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import { rowsOf } from "../../layout/list-choices.ts";
import { askedList, nameSorts, narrowedList, readListQuery } from "../../layout/list-query.ts";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refusalOf, refuseForm } from "../../refused-form.ts";
import { saidOfKey } from "./key-refusal.ts";
import { keyFilters, SshKeysPage } from "./list-page.tsx";

const keyFields = ["name", "public_key"];

/** The key form's field for a pointer into the body of `POST /ssh-keys`. */
export function keyFieldOf(pointer: string): string | null {
  return keyFields.find((field) => `/${field}` === pointer) ?? null;
}

export function sshKeyRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/ssh-keys", (context) => {
    const banner = noticeBanner(context, context.get("view").messages.sshKeys.notices);
    return showKeys(context, { banner, problems: noProblems, form: emptyForm(), status: 200 });
  });

  routes.post("/ssh-keys", async (context) => {
    const typed = postedValues(context, ["name", "public_key"]);
    const form = { name: typed.name, publicKey: typed.public_key, idempotencyKey: crypto.randomUUID() };
    const outcome = await attempt(
      context.get("api").POST("/ssh-keys", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: typed,
      }),
    );
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=added", 303);
    const problem = conflictOf(outcome);
    const { messages } = context.get("view");
    const refused = refusalOf(problem, messages, "add", typed, {
      fields: keyFieldOf,
      conflicts: { duplicate_key: "public_key", name_taken: "name" },
      said: { public_key: saidOfKey(problem, form.publicKey, messages) },
    });
    const { banner, status } = refused;
    return showKeys(context, { banner, problems: refused.form.problems, form, status });
  });

  routes.post("/ssh-keys/:id/rename", async (context) => {
    const id = context.req.param("id");
    const values = postedValues(context, ["name"]);
    const outcome = await attempt(
      context.get("api").PATCH("/ssh-keys/{ssh_key_id}", {
        params: { path: { ssh_key_id: id }, header: { "Idempotency-Key": postedKey(context) } },
        body: values,
      }),
    );
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=renamed", 303);
    const { form, banner, status } = refuseForm(context, outcome, `rename-${id}`, values, {
      fields: keyFieldOf,
      conflicts: { name_taken: "name" },
    });
    return showKeys(context, { banner, problems: noProblems, refused: form, form: emptyForm(), status });
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
    return showKeys(context, { banner, problems: noProblems, form: emptyForm(), status });
  });

  for (const act of ["rename", "delete"])
    routes.get(`/ssh-keys/:id/${act}`, (context) => context.redirect("/ssh-keys", 303));

  return routes;
}

const emptyForm = () => ({ name: "", publicKey: "", idempotencyKey: crypto.randomUUID() });

async function showKeys(
  context: Context<ConsoleEnv>,
  state: {
    readonly banner: PageBanner;
    readonly problems: FieldProblems;
    readonly refused?: RefusedForm;
    readonly form: ReturnType<typeof emptyForm>;
    readonly status: 200 | 409 | 422;
  },
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
        form={state.form}
        problems={state.problems}
        refused={state.refused ?? null}
        banner={state.banner}
      />,
    ),
    state.status,
  );
}
