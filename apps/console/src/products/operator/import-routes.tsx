import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { attempt, conflictOf, type Outcome, type Problem, read, readAll } from "../../api.ts";
import {
  type ConsoleContext,
  type ConsoleEnv,
  type ConsoleServices,
  sessionOf,
} from "../../console-context.ts";
import { withLabelProblem } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { conflictText, fieldProblems, problemText, sentence } from "../../problem-messages.ts";
import { ImportPage } from "./import-page.tsx";
import { type ImportForm, nameFrom, otherVm, readImportForm, toImportBody } from "./import-values.ts";
import type { ImportPageProps } from "./props.ts";

type Choices = Pick<ImportPageProps, "regions" | "organisations" | "catalog" | "networks" | "foreign">;
type Shown = Partial<Pick<ImportPageProps, "problems" | "banner" | "check">> & {
  readonly status?: 200 | 409 | 422 | 503;
};

const fields = ["name", "region", "vmid", "image", "package", "subnet_id", "private_ip", "labels"];

/** The field beside which a conflict is shown. */
const besides: Readonly<Record<string, string>> = {
  name_taken: "name",
  in_use: "vmid",
  vm_not_importable: "vmid",
  address_in_use: "private_ip",
  subnet_exhausted: "subnet_id",
  quota_exceeded: "organisation_id",
  organisation_suspended: "organisation_id",
  region_unavailable: "region",
};

/** Operators import an existing VM as a server. */
export function importRoutes({ cookies }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/", (context) => prepare(context, new URL(context.req.url).searchParams));
  routes.get("/preview", (context) => context.redirect("/operator/import", 303));
  routes.post("/preview", (context) => prepare(context, context.get("form")));

  routes.post("/", async (context) => {
    const posted = context.get("form");
    const intent = posted.get("intent");
    if (intent === "refresh") return prepare(context, posted);
    const form = readImportForm(posted);
    const choices = await loadChoices(context, form);
    const { messages } = context.get("view");
    const check = intent !== "import";
    const outcome = await send(context, form, check);
    if (outcome.kind === "away")
      return show(context, choices, form, {
        banner: { kind: "problem", text: messages.serverImport.away },
        status: 503,
      });
    // This attempt is answered; the next one, with other values, is another request.
    const next = { ...form, idempotencyKey: crypto.randomUUID() };
    if (outcome.kind === "refused")
      return show(context, choices, next, refused(context, form, conflictOf(outcome)));
    if (check) return show(context, choices, next, checked(context, outcome.data as Schemas["DryRun"]));
    const organisation = choices.organisations.find(({ id }) => id === form.organisationId);
    if (organisation !== undefined)
      await cookies.writeSession(context, {
        ...sessionOf(context),
        organisation: { id: organisation.id, name: organisation.name },
      });
    return context.redirect(`/servers/${(outcome.data as Schemas["ServerAndJob"]).server.id}`, 303);
  });

  return routes;
}

/** The form with the lists for its choices, and the VM's name if none was typed. */
async function prepare(context: ConsoleContext, query: URLSearchParams) {
  const wanted = readImportForm(query);
  const choices = await loadChoices(context, wanted);
  const fresh = { ...wanted, idempotencyKey: crypto.randomUUID() };
  return show(context, choices, fitted(context, choices, fresh), {});
}

async function loadChoices(context: ConsoleContext, form: ImportForm): Promise<Choices> {
  const api = context.get("api");
  const [regions, organisations] = await Promise.all([
    readAll((page) => api.GET("/regions", { params: { query: page } })),
    readAll((page) => api.GET("/organisations", { params: { query: page } })),
  ]);
  const region = form.region || regions.items[0]?.slug;
  const organisation = chosenOrganisation(context, form, organisations.items);
  if (region === undefined || organisation === undefined)
    return {
      regions: regions.items,
      organisations: organisations.items,
      catalog: null,
      networks: [],
      foreign: [],
    };
  const header = { "Kule-Organisation": organisation };
  const [foreign, catalog, networks] = await Promise.all([
    read(api.GET("/operator/drift", { params: { query: { region, kind: ["foreign"], limit: 100 } } })),
    read(api.GET("/catalog", { params: { header } })),
    readAll((page) => api.GET("/networks", { params: { header, query: page } })),
  ]);
  return {
    regions: regions.items,
    organisations: organisations.items,
    catalog,
    networks: networks.items,
    foreign: foreign.items,
  };
}

function chosenOrganisation(
  context: ConsoleContext,
  form: ImportForm,
  organisations: readonly Schemas["Organisation"][],
): string | undefined {
  const wanted = form.organisationId || sessionOf(context).organisation?.id;
  return (organisations.find(({ id }) => id === wanted) ?? organisations[0])?.id;
}

/** The defaults of the form: the first of each choice, and the VM's own name. */
function fitted(context: ConsoleContext, choices: Choices, form: ImportForm): ImportForm {
  const region = form.region || choices.regions[0]?.slug || "";
  const vm = choices.foreign.find(({ vmid }) => String(vmid) === form.vmid);
  // Another region has other VMs: a number that is not in its list was typed.
  const typed = vm === undefined && form.vmid !== "" && form.vmid !== otherVm;
  const subnets = choices.networks
    .filter((network) => network.region === region)
    .flatMap(({ subnets }) => subnets);
  const subnet = subnets.find(({ id }) => id === form.subnetId) ?? subnets[0];
  return {
    ...form,
    region,
    vmid: typed ? otherVm : form.vmid,
    otherVmid: typed && form.otherVmid === "" ? form.vmid : form.otherVmid,
    organisationId: chosenOrganisation(context, form, choices.organisations) ?? "",
    subnetId: subnet?.id ?? "",
    name: isTyped(form.name, choices.foreign) ? form.name : nameFrom(vm?.vm_name ?? ""),
    image: form.image || choices.catalog?.images[0]?.slug || "",
    package: form.package || choices.catalog?.packages[0]?.slug || "",
  };
}

/** A name that was derived from a VM changes with the choice of the VM. */
function isTyped(name: string, foreign: Choices["foreign"]): boolean {
  return name !== "" && !foreign.some(({ vm_name }) => nameFrom(vm_name ?? "") === name);
}

function send(context: ConsoleContext, form: ImportForm, dryRun: boolean): Promise<Outcome<unknown>> {
  return attempt(
    context.get("api").POST("/servers/import", {
      params: {
        header: {
          "Kule-Organisation": form.organisationId,
          ...(dryRun ? {} : { "Idempotency-Key": form.idempotencyKey || crypto.randomUUID() }),
        },
        query: { dry_run: dryRun },
      },
      body: toImportBody(form),
    }),
  );
}

function refused(context: ConsoleContext, form: ImportForm, problem: Problem): Shown {
  const { messages } = context.get("view");
  if (problem.status === 422) {
    const { fields: problems, rest } = fieldProblems(
      problem,
      messages,
      (pointer) => fields.find((name) => pointer.split("/")[1] === name) ?? null,
    );
    return {
      problems: withLabelProblem(problems, form.labels, messages),
      banner: { kind: "problem", text: [messages.serverImport.refused, ...rest].join(" ") },
      status: 422,
    };
  }
  const text = sentence(problemText(problem, messages), messages.locale);
  const field = besides[problem.code];
  return {
    problems: field === undefined ? {} : { [field]: [text] },
    banner: { kind: "problem", text: field === undefined ? text : messages.serverImport.refused },
    status: 409,
  };
}

/** Refusals are shown in the summary and, where they belong to a field, beside it. */
function checked(context: ConsoleContext, { blockers }: Schemas["DryRun"]): Shown {
  const { messages } = context.get("view");
  const problems: Record<string, string[]> = {};
  const texts = blockers.map((blocker) => {
    const text = sentence(conflictText(blocker, messages), messages.locale);
    const field = besides[blocker.code];
    if (field !== undefined) problems[field] = [...(problems[field] ?? []), text];
    return messages.locale === "en" && blocker.fix !== null
      ? `${text} ${sentence(blocker.fix, messages.locale)}`
      : text;
  });
  return { problems, check: { blockers: texts } };
}

function show(context: ConsoleContext, choices: Choices, form: ImportForm, shown: Shown) {
  return context.html(
    renderPage(
      <ImportPage
        view={context.get("view")}
        {...choices}
        form={form}
        problems={shown.problems ?? {}}
        banner={shown.banner ?? null}
        check={shown.check ?? null}
      />,
    ),
    shown.status ?? 200,
  );
}
