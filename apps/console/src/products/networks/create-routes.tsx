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
import { CreateNetworkPage } from "./create-page.tsx";

const fields = ["labels", "name", "region", "cidr", "description"] as const;

/** `/networks/new`: the form of a network, and its creation. */
export function createNetworkRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/networks/new", (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "network:create")) return forbidden(context, []);
    return show(context, null, null, 200);
  });

  routes.post("/networks/new", async (context) => {
    const values = postedValues(context, fields);
    const outcome = await attempt(
      context.get("api").POST("/networks", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          ...(values.region === "" ? {} : { region: values.region }),
          ...(values.cidr === "" ? {} : { cidr: values.cidr }),
          ...(values.description === "" ? {} : { description: values.description }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/networks/${outcome.data.network.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "network", values, {
      fields,
      conflicts: { name_taken: "name", cidr_overlap: "cidr" },
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
      <CreateNetworkPage
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
