import { Hono } from "hono";
import { ApiAway, attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv, ConsoleServices } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { fieldProblems, problemText } from "../../problem-messages.ts";
import { switchTo } from "../organisations/switch-to.ts";
import { visitorsClient } from "../sign-in/enter.ts";
import { listProviders } from "../sign-in/providers.ts";
import { JoinPage } from "./join-page.tsx";

/** The target of an invitation's link: for people without an account, with one, and signed in. */
export function joinRoutes(services: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/join", async (context) => {
    const secret = context.req.query("invitation") ?? "";
    if (secret === "" && context.req.query("done") !== undefined)
      return showPage(context, services, { secret, hasJoined: true, status: 200 });
    return showPage(context, services, { secret, status: 200 });
  });

  routes.post("/join", (context) =>
    context.get("session") === null ? acceptAsGuest(context, services) : joinAsUser(context, services),
  );

  return routes;
}

async function acceptAsGuest(context: ConsoleContext, services: ConsoleServices): Promise<Response> {
  const form = context.get("form");
  const { messages } = context.get("view");
  const secret = form.get("secret") ?? "";
  const name = (form.get("name") ?? "").trim();
  const password = form.get("password") ?? "";
  const answer = await visitorsClient(services, context)
    .POST("/auth/invitation/accept", { body: { secret, name, password } })
    .catch(() => null);
  if (answer === null) throw new ApiAway("the API does not answer", null);
  const again = (status: 401 | 409 | 422 | 429, problems: FieldProblems, text?: string) =>
    showPage(context, services, {
      secret,
      name,
      problems,
      status,
      ...(text === undefined ? {} : { banner: { kind: "problem", text } }),
    });
  // Before `attempt`, which treats a 401 as the end of the session: here it is a wrong password.
  if (answer.response.status === 401) return again(401, { password: [messages.join.refused] });
  if (answer.response.status === 429) return again(429, noProblems, messages.join.tooMany);
  const outcome = await attempt(Promise.resolve(answer));
  if (outcome.kind === "done") return context.redirect("/join?done", 303);
  const problem = conflictOf(outcome);
  if (problem.status !== 422) return again(409, noProblems, problemText(problem, messages));
  const { fields } = fieldProblems(
    problem,
    messages,
    (pointer) => ["name", "password"].find((field) => pointer === `/${field}`) ?? null,
  );
  return again(422, fields);
}

async function joinAsUser(context: ConsoleContext, services: ConsoleServices): Promise<Response> {
  const secret = context.get("form").get("secret") ?? "";
  const outcome = await attempt(context.get("api").POST("/me/organisations", { body: { secret } }));
  if (outcome.kind === "done") return switchTo(context, services, outcome.data.organisation.id);
  const problem = conflictOf(outcome);
  const { messages } = context.get("view");
  if (problem.status === 422) return showPage(context, services, { secret, status: 422 });
  const text =
    problem.precondition?.name === "invitation_is_for_you"
      ? messages.join.other
      : problemText(problem, messages);
  return showPage(context, services, { secret, status: 409, banner: { kind: "problem", text } });
}

async function showPage(
  context: ConsoleContext,
  services: ConsoleServices,
  state: {
    readonly secret: string;
    readonly status: 200 | 401 | 409 | 422 | 429;
    readonly name?: string;
    readonly problems?: FieldProblems;
    readonly banner?: PageBanner;
    readonly hasJoined?: boolean;
  },
): Promise<Response> {
  const { secret } = state;
  const outcome =
    secret === ""
      ? null
      : await attempt(visitorsClient(services, context).POST("/auth/invitation", { body: { secret } }));
  if (outcome?.kind === "away") throw new ApiAway("the API does not answer", outcome.requestId);
  const offer = outcome?.kind === "done" ? outcome.data : null;
  return context.html(
    renderPage(
      <JoinPage
        view={context.get("view")}
        offer={offer}
        secret={secret}
        name={state.name ?? ""}
        providers={context.get("session") === null ? await listProviders(services, context) : []}
        problems={state.problems ?? noProblems}
        banner={state.banner ?? null}
        hasJoined={state.hasJoined === true}
      />,
    ),
    offer === null && state.hasJoined !== true && state.status === 200 ? 404 : state.status,
  );
}
