import type { Hono } from "hono";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import { postedKey, postedValues, typedNumber } from "../../posted-form.ts";
import { refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { CreateDomainPage } from "./create-page.tsx";
import { fileProblems } from "./file-problems.ts";
import type { CreateDomainPageProps } from "./props.ts";
import { isProven } from "./status.ts";

const fields = ["name", "description", "zone_file", "ttl", "labels"] as const;

/** `/domains/new`: the form of a domain, and its creation. */
export function createDomainRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/domains/new", (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "domain:create")) return forbidden(context, []);
    return show(context, { banner: null, form: null, fileProblems: [] }, 200);
  });

  routes.post("/domains/new", async (context) => {
    const values = postedValues(context, fields);
    const outcome = await attempt(
      context.get("api").POST("/domains", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          ...(values.ttl === "" ? {} : { ttl: typedNumber(values.ttl) }),
          ...(values.description === "" ? {} : { description: values.description }),
          ...(values.zone_file === "" ? {} : { zone_file: values.zone_file }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done") {
      const { domain } = outcome.data;
      // One that is not proven yet is not served: what proves it comes first.
      const tab = isProven(domain) ? "" : "/delegation";
      return context.redirect(`/domains/${domain.id}${tab}?notice=created`, 303);
    }
    const { messages } = context.get("view");
    const wrongLines = fileProblems(conflictOf(outcome), messages, values.zone_file);
    const refused = refuseForm(context, outcome, "domain", values, {
      fields,
      conflicts: { domain_name_free: "name", domain_taken: "name", name_taken: "name" },
      said: { labels: labelErrorText(values.labels, messages) },
    });
    return show(
      context,
      { banner: refused.banner, form: refused.form, fileProblems: wrongLines },
      refused.status,
    );
  });
}

function show(
  context: ConsoleContext,
  shown: Pick<CreateDomainPageProps, "banner" | "form" | "fileProblems">,
  status: 200 | 409 | 422,
) {
  return context.html(
    renderPage(
      <CreateDomainPage view={context.get("view")} {...shown} idempotencyKey={crypto.randomUUID()} />,
    ),
    status,
  );
}
