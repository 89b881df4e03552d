import type { Hono } from "hono";
import { attempt, conflictOf, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { postedKey } from "../../posted-form.ts";
import { fieldProblems, problemText, sentence } from "../../problem-messages.ts";
import { RulesPage } from "./edit-rules-page.tsx";
import { readPlaces } from "./places.ts";
import type { RulesPageProps } from "./props.ts";
import { applyIntent, type DraftRule, draftField, draftOf, readDraft, rulesBody } from "./rule-draft.ts";

type Shown = Partial<Pick<RulesPageProps, "problems" | "banner" | "focus" | "generation">> & {
  readonly rules: readonly DraftRule[] | null;
  readonly status?: 200 | 409 | 412 | 422;
};

/** The form with all rules of a firewall: edited row by row, saved together. */
export function ruleRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/firewalls/:firewall_id/rules", (context) => show(context, { rules: null }));

  routes.get("/firewalls/:firewall_id/rules/draft", (context) =>
    context.redirect(`/firewalls/${context.req.param("firewall_id")}/rules`, 303),
  );

  routes.post("/firewalls/:firewall_id/rules/draft", (context) => {
    const form = context.get("form");
    return show(context, {
      ...applyIntent(readDraft(form), form.get("intent") ?? ""),
      generation: form.get("generation") ?? "",
    });
  });

  routes.post("/firewalls/:firewall_id/rules", async (context) => {
    const form = context.get("form");
    const id = context.req.param("firewall_id");
    const rules = readDraft(form);
    const generation = form.get("generation") ?? "";
    const outcome = await attempt(
      context.get("api").PUT("/firewalls/{firewall_id}/rules", {
        params: {
          path: { firewall_id: id },
          header: { "Idempotency-Key": postedKey(context), "If-Match": `"g${generation}"` },
        },
        body: rulesBody(rules),
      }),
    );
    if (outcome.kind === "done") return context.redirect(`/firewalls/${id}?notice=rules`, 303);
    const problem = conflictOf(outcome);
    const { messages } = context.get("view");
    if (problem.status === 412)
      // The form contains the new version: saving again overwrites it deliberately.
      return show(context, {
        rules,
        status: 412,
        banner: { kind: "warning", text: messages.firewalls.editor.changed },
      });
    if (problem.status === 422) {
      const { fields, rest } = fieldProblems(problem, messages, draftField);
      const count = Object.keys(fields).length;
      const text = [...(count === 0 ? [] : [`${messages.common.problems(count)}.`]), ...rest].join(" ");
      return show(context, {
        rules,
        generation,
        problems: fields,
        focus: Object.keys(fields)[0] ?? null,
        banner: { kind: "problem", text },
        status: 422,
      });
    }
    const text = sentence(problemText(problem, messages), messages.locale);
    return show(context, { rules, generation, banner: { kind: "problem", text }, status: 409 });
  });
}

async function show(context: ConsoleContext, shown: Shown) {
  const api = context.get("api");
  const path = { firewall_id: context.req.param("firewall_id") ?? "" };
  const firewall = await read(api.GET("/firewalls/{firewall_id}", { params: { path } }));
  return context.html(
    renderPage(
      <RulesPage
        view={context.get("view")}
        firewall={firewall}
        places={await readPlaces(context, firewall.region)}
        rules={shown.rules ?? draftOf(firewall.rules)}
        problems={shown.problems ?? noProblems}
        banner={shown.banner ?? null}
        focus={shown.focus ?? null}
        generation={shown.generation ?? String(firewall.generation)}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    shown.status ?? 200,
  );
}
