import { createHash } from "node:crypto";
import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, conflictOf, type Outcome, type Problem, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { withLabelProblem } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { Messages } from "../../messages/messages.ts";
import { fieldProblems, problemText } from "../../problem-messages.ts";
import { remedyOf } from "../../remedy.ts";
import { may } from "../../session.ts";
import { keyFieldOf } from "../ssh-keys/create-routes.tsx";
import type { Check } from "./check-outcome-part.tsx";
import { CreatePage } from "./create-page.tsx";
import {
  type CreateForm,
  createFieldOf,
  fitted,
  freshCreateForm,
  readCreateForm,
  toCreateBody,
  withChoicesOfRegion,
  withSubnetOfRegion,
} from "./create-values.ts";
import { packPassword } from "./password-once.ts";
import type { CreatePageProps } from "./props.ts";

type Choices = Pick<CreatePageProps, "catalog" | "sshKeys" | "networks" | "firewalls" | "publicIps">;
type Banner = CreatePageProps["banner"];

/** `/servers/new`: the form, its live check, and the creation. */
export function createServerRoutes({ cookies }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();
  // A second click that arrives while the first request runs shares its answer, and with it the password.
  const underWay = new Map<string, Promise<Outcome<Schemas["ServerCreated"]>>>();

  routes.get("/", async (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "server:create")) return forbidden(context, []);
    const choices = await loadChoices(context.get("api"));
    const query = new URL(context.req.url).searchParams;
    const fresh = freshCreateForm(choices.catalog, crypto.randomUUID());
    // An address may contain choices: links to the form, and the way back after a session ended.
    const form = query.has("name")
      ? fittedForm(choices, { ...readCreateForm(query), idempotencyKey: fresh.idempotencyKey })
      : fresh;
    return show(context, choices, form, await checked(context, choices, form));
  });

  // The requests of the page while a person fills in the form.
  routes.post("/preview", async (context) => {
    const choices = await loadChoices(context.get("api"));
    const form = fittedForm(choices, readCreateForm(context.get("form")));
    return show(context, choices, form, await checked(context, choices, form));
  });

  routes.post("/", async (context) => {
    const view = context.get("view");
    const { messages } = view;
    const intent = context.get("form").get("intent");
    const choices = await loadChoices(context.get("api"));
    let form = readCreateForm(context.get("form"));

    if (form.newKeyText !== "" && intent !== "check") {
      const added = await addKey(context, form);
      if (added.kind !== "done") return show(context, choices, form, refusedKey(added, messages));
      choices.sshKeys = [added.data, ...choices.sshKeys.filter(({ id }) => id !== added.data.id)];
      form = { ...form, newKeyName: "", newKeyText: "", sshKeyIds: [...form.sshKeyIds, added.data.id] };
    }
    if (intent !== "create") {
      form = fittedForm(choices, form);
      return show(context, choices, form, await checked(context, choices, form));
    }

    const key = `${context.get("session")?.token} ${form.idempotencyKey}`;
    const creation = underWay.get(key) ?? create(context.get("api"), choices.catalog, form);
    underWay.set(key, creation);
    const outcome = await creation.finally(() => underWay.delete(key));
    if (outcome.kind === "away")
      return show(context, choices, form, {
        check: "unchecked",
        banner: { kind: "problem", text: messages.create.away },
        status: 503,
      });
    if (outcome.kind === "refused") {
      const problem = conflictOf(outcome);
      // This attempt is answered; the next one, with other values, is another request.
      const next = { ...form, idempotencyKey: crypto.randomUUID() };
      return show(context, choices, next, { check: "refused", ...refusedCreate(problem, form, view) });
    }
    const { server, console_password: password, secret_withheld: withheld } = outcome.data;
    if (password !== undefined && password !== null)
      await cookies.writeOnce(context, server.id, packPassword({ user: null, password }));
    return context.redirect(`/servers/${server.id}${withheld ? "?password=withheld" : ""}`, 303);
  });

  return routes;
}

const fittedForm = (choices: Choices, form: CreateForm): CreateForm =>
  withSubnetOfRegion(withChoicesOfRegion(fitted(choices.catalog, form), choices), choices.networks);

function create(api: ApiClient, catalog: Schemas["Catalog"], form: CreateForm) {
  return attempt(
    api.POST("/servers", {
      params: { header: { "Idempotency-Key": form.idempotencyKey || crypto.randomUUID() } },
      body: toCreateBody(catalog, form),
    }),
  ) as Promise<Outcome<Schemas["ServerCreated"]>>;
}

async function checked(context: ConsoleContext, choices: Choices, form: CreateForm): Promise<Extra> {
  // A region without images leaves nothing to choose, and the API would name images that the region lacks.
  if (form.image === "")
    return { check: "refused", problems: { image: [context.get("view").messages.create.noImages] } };
  return { check: await dryRun(context, choices, form) };
}

/** The dry run, when the choices are sufficient for one. Field errors are shown when the form is sent. */
async function dryRun(context: ConsoleContext, choices: Choices, form: CreateForm): Promise<Check | Problem> {
  if (form.name === "") return "unchecked";
  const outcome = await attempt(
    context.get("api").POST("/servers", {
      params: { query: { dry_run: true } },
      body: toCreateBody(choices.catalog, form),
    }),
  );
  if (outcome.kind === "done") return outcome.data as unknown as Schemas["DryRun"];
  return outcome.kind === "away" ? "away" : conflictOf(outcome);
}

function addKey(context: ConsoleContext, form: CreateForm) {
  const content = createHash("sha256").update(`${form.newKeyName}\n${form.newKeyText}`).digest("hex");
  return attempt(
    context.get("api").POST("/ssh-keys", {
      params: { header: { "Idempotency-Key": `${form.idempotencyKey}-key-${content.slice(0, 20)}` } },
      body: { name: form.newKeyName, public_key: form.newKeyText },
    }),
  );
}

type Extra = {
  readonly check: Check | Problem;
  readonly problems?: FieldProblems;
  readonly banner?: Banner;
  readonly status?: 200 | 409 | 422 | 503;
};

function refusedKey(
  outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>,
  messages: Messages,
): Extra {
  if (outcome.kind === "away")
    return {
      check: "unchecked",
      banner: { kind: "problem", text: messages.create.away },
      status: 503,
    };
  const problem = conflictOf(outcome);
  const { fields, rest } = fieldProblems(problem, messages, (pointer) => {
    const field = keyFieldOf(pointer);
    return field === "name" ? "new_key_name" : field === "public_key" ? "new_key_text" : null;
  });
  if (problem.status === 422)
    return { check: "unchecked", problems: { ...fields, ...formProblem("new_key_text", rest) }, status: 422 };
  return {
    check: "unchecked",
    problems: { new_key_text: [problemText(problem, messages)] },
    status: 409,
  };
}

const formProblem = (field: string, texts: readonly string[]): FieldProblems =>
  texts.length === 0 ? {} : { [field]: texts };

function refusedCreate(problem: Problem, form: CreateForm, view: View): Omit<Extra, "check"> {
  const { messages } = view;
  if (problem.status === 422) {
    const { fields, rest } = fieldProblems(problem, messages, createFieldOf);
    return {
      problems: withLabelProblem(fields, form.labels, messages),
      banner: rest.length === 0 ? null : { kind: "problem", text: rest.join(" ") },
      status: 422,
    };
  }
  if (problem.code === "idempotency_key_reused")
    return { banner: { kind: "warning", text: messages.create.reused }, status: 409 };
  const text = problemText(problem, messages);
  if (problem.code === "name_taken") return { problems: { name: [text] }, status: 409 };
  if (problem.code === "no_public_ip_available") return { problems: { public_ip: [text] }, status: 409 };
  if (problem.code === "address_in_use") return { problems: { private_ip: [text] }, status: 409 };
  const remedy = remedyOf(problem.precondition, view);
  return { banner: { kind: "problem", text, remedy }, status: 409 };
}

async function loadChoices(api: ApiClient): Promise<{ -readonly [Name in keyof Choices]: Choices[Name] }> {
  const [catalog, sshKeys, networks, firewalls, publicIps] = await Promise.all([
    read(api.GET("/catalog")),
    readAll((page) => api.GET("/ssh-keys", { params: { query: page } })),
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    readAll((page) => api.GET("/firewalls", { params: { query: page } })),
    readAll((page) => api.GET("/public-ips", { params: { query: page } })),
  ]);
  return {
    catalog,
    sshKeys: sshKeys.items,
    networks: networks.items,
    firewalls: firewalls.items,
    publicIps: publicIps.items,
  };
}

function show(context: ConsoleContext, choices: Choices, form: CreateForm, extra: Extra) {
  const view = context.get("view");
  const { check } = extra;
  // A dry run that was refused for its fields shows the errors beside them, as the real request would.
  const refused = typeof check === "object" && "request_id" in check ? refusedCreate(check, form, view) : {};
  return context.html(
    renderPage(
      <CreatePage
        {...choices}
        view={view}
        form={form}
        problems={extra.problems ?? refused.problems ?? noProblems}
        banner={extra.banner ?? refused.banner ?? null}
        check={typeof check === "object" && "request_id" in check ? "refused" : check}
        sent={extra.status !== undefined}
        isOpened={context.req.method === "GET"}
      />,
    ),
    extra.status ?? 200,
  );
}
