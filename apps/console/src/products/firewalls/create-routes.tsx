import type { RequestBody } from "@kule/contract/schemas";
import type { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { reachableFirst } from "../../reachable-first.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { type Start, startingRules } from "./create-form.tsx";
import { CreateFirewallPage } from "./create-page.tsx";

const fields = ["labels", "name", "region", "start", "description"] as const;

/** `/firewalls/new`: the form of a firewall, and its creation. */
export function createFirewallRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/firewalls/new", (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "firewall:create")) return forbidden(context, []);
    return show(context, null, null, 200);
  });

  routes.post("/firewalls/new", async (context) => {
    const values = postedValues(context, fields);
    const rules = startingRules[values.start as Start] ?? [];
    const outcome = await attempt(
      context.get("api").POST("/firewalls", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          ...(values.region === "" ? {} : { region: values.region }),
          ...(values.description === "" ? {} : { description: values.description }),
          ...typedLabels(values.labels),
          rules: structuredClone(rules) as unknown as NonNullable<RequestBody<"createFirewall">["rules"]>,
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/firewalls/${outcome.data.firewall.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "firewall", values, {
      fields: ["labels", "name", "region", "description"],
      conflicts: { name_taken: "name" },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return show(context, banner, form, status);
  });
}

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const catalog = await read(context.get("api").GET("/catalog"));
  return context.html(
    renderPage(
      <CreateFirewallPage
        view={context.get("view")}
        regions={reachableFirst(catalog.regions)}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
