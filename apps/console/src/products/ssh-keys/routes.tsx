import { type Context, Hono } from "hono";
import { attempt, conflictOf, read } from "../../api.ts";
import { type ConsoleEnv, noticeOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import { problemText } from "../../problem-messages.ts";
import { type RefusedForm, refusalOf } from "../servers/refused-form.ts";
import { requestKey } from "../servers/request-options.ts";
import { saidOfKey } from "./key-refusal.ts";
import { SshKeysPage } from "./list-page.tsx";

const keyFields = ["name", "public_key"];

/** The key form's field for a pointer into the body of `POST /ssh-keys`. */
export function keyFieldOf(pointer: string): string | null {
  return keyFields.find((field) => `/${field}` === pointer) ?? null;
}

export function sshKeyRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/ssh-keys", (context) => {
    const notice = noticeOf(context, context.get("view").messages.sshKeys.notices);
    return showKeys(context, {
      banner: notice === null ? null : { kind: "notice", text: notice },
      problems: noProblems,
      form: emptyForm(),
      status: 200,
    });
  });

  routes.post("/ssh-keys", async (context) => {
    const posted = context.get("form");
    const form = {
      name: (posted.get("name") ?? "").trim(),
      publicKey: (posted.get("public_key") ?? "").trim(),
      idempotencyKey: posted.get("idempotency_key") || crypto.randomUUID(),
    };
    const outcome = await attempt(
      context.get("api").POST("/ssh-keys", {
        params: { header: { "Idempotency-Key": form.idempotencyKey } },
        body: { name: form.name, public_key: form.publicKey },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=added", 303);
    const problem = conflictOf(outcome);
    const { messages } = context.get("view");
    const { form: came, banner } = refusalOf(
      problem,
      "add",
      posted,
      {
        fieldOf: keyFieldOf,
        conflicts: { duplicate_key: "public_key", name_taken: "name" },
        said: { public_key: saidOfKey(problem, form.publicKey, messages) },
      },
      messages,
    );
    return showKeys(context, {
      banner: banner === null ? null : { kind: "problem", text: banner },
      problems: came.problems,
      form: { ...form, idempotencyKey: crypto.randomUUID() },
      status: problem.status === 422 ? 422 : 409,
    });
  });

  routes.post("/ssh-keys/:id/rename", async (context) => {
    const id = context.req.param("id");
    const posted = context.get("form");
    const outcome = await attempt(
      context.get("api").PATCH("/ssh-keys/{ssh_key_id}", {
        params: { path: { ssh_key_id: id }, header: { "Idempotency-Key": requestKey(posted) } },
        body: { name: (posted.get("name") ?? "").trim() },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=renamed", 303);
    const problem = conflictOf(outcome);
    const { form, banner } = refusalOf(
      problem,
      `rename-${id}`,
      posted,
      { fieldOf: keyFieldOf, conflicts: { name_taken: "name" } },
      context.get("view").messages,
    );
    return showKeys(context, {
      banner: banner === null ? null : { kind: "problem", text: banner },
      problems: noProblems,
      refused: form,
      form: emptyForm(),
      status: problem.status === 422 ? 422 : 409,
    });
  });

  routes.post("/ssh-keys/:id/delete", async (context) => {
    const outcome = await attempt(
      context.get("api").DELETE("/ssh-keys/{ssh_key_id}", {
        params: {
          path: { ssh_key_id: context.req.param("id") },
          header: { "Idempotency-Key": context.get("form").get("idempotency_key") || crypto.randomUUID() },
        },
      }),
    );
    if (outcome.kind === "done") return context.redirect("/ssh-keys?notice=deleted", 303);
    // Somebody else was faster: what was wanted is true.
    if (outcome.kind === "refused" && outcome.problem.status === 404)
      return context.redirect("/ssh-keys?notice=deleted", 303);
    const text = problemText(conflictOf(outcome), context.get("view").messages);
    return showKeys(context, {
      banner: { kind: "problem", text },
      problems: noProblems,
      form: emptyForm(),
      status: 409,
    });
  });

  for (const act of ["rename", "delete"])
    routes.get(`/ssh-keys/:id/${act}`, (context) => context.redirect("/ssh-keys", 303));

  return routes;
}

const emptyForm = () => ({ name: "", publicKey: "", idempotencyKey: crypto.randomUUID() });

async function showKeys(
  context: Context<ConsoleEnv>,
  state: {
    readonly banner: { readonly kind: "notice" | "problem"; readonly text: string } | null;
    readonly problems: FieldProblems;
    readonly refused?: RefusedForm;
    readonly form: ReturnType<typeof emptyForm>;
    readonly status: 200 | 409 | 422;
  },
) {
  const cursor = context.req.query("cursor") || undefined;
  const keys = await read(
    context.get("api").GET("/ssh-keys", {
      params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
    }),
  );
  return context.html(
    renderPage(
      <SshKeysPage
        view={context.get("view")}
        keys={keys}
        cursor={cursor}
        form={state.form}
        problems={state.problems}
        refused={state.refused ?? null}
        banner={state.banner}
      />,
    ),
    state.status,
  );
}
