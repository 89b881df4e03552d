import type { Schemas } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, conflictOf, type Problem } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refusalOf } from "../../refused-form.ts";
import { readItemOrNull } from "../../resources/call-operation.ts";
import { may } from "../../session.ts";
import { CreateSshKeyPage } from "./create-page.tsx";
import { keyErrorText } from "./key-refusal.ts";
import { sshKeys } from "./resource.ts";

const keyFields = ["name", "public_key"];

/** The key form's field for a pointer into the body of `POST /ssh-keys`. */
export function keyFieldOf(pointer: string): string | null {
  return keyFields.find((field) => `/${field}` === pointer) ?? null;
}

/** `/ssh-keys/new`: the form of a key, and its creation. */
export function createSshKeyRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/ssh-keys/new", (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "ssh_key:create")) return forbidden(context, []);
    return show(context, null, null, null, 200);
  });

  routes.post("/ssh-keys/new", async (context) => {
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
      "key",
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
    return show(context, await existingKey(context, problem), banner, form, status);
  });
}

/** The key that the organisation already has, if that is why the API refused this one. */
async function existingKey(
  context: ConsoleContext,
  { precondition }: Problem,
): Promise<Schemas["SshKey"] | null> {
  const id = precondition?.code === "duplicate_key" ? precondition.resource : null;
  return id === null ? null : readItemOrNull(context.get("api"), sshKeys, id);
}

function show(
  context: ConsoleContext,
  existing: Schemas["SshKey"] | null,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  return context.html(
    renderPage(
      <CreateSshKeyPage
        view={context.get("view")}
        form={form}
        existing={existing}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
