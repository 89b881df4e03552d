import { ApiAway, ApiRefused, type Problem, SessionEnded } from "./api.ts";
import type { ConsoleContext } from "./console-context.ts";
import { renderPage } from "./layout/document.tsx";
import { ErrorPage } from "./layout/error-page.tsx";
import { problemText, sentence } from "./problem-messages.ts";
import { firstPage, safeReturnPath } from "./session.ts";

const wrongAddress: ReadonlySet<number> = new Set([400, 422]);
/** What no form of the panel sends, or for a reason that is newer than the panel: the API says which. */
const refusals: ReadonlySet<number> = new Set([...wrongAddress, 409, 412]);

/** The page for a failure, or null for an unexpected one. */
export function answerFailure(error: Error, context: ConsoleContext): Response | Promise<Response> | null {
  if (error instanceof SessionEnded) return toSignIn(context);
  if (error instanceof ApiAway) return away(context);
  if (error instanceof ApiRefused && error.problem.status === 404) return notFound(context);
  // No form leads to such an address: its region, month or page of a list cannot exist.
  if (error instanceof ApiRefused && context.req.method === "GET" && wrongAddress.has(error.problem.status))
    return notFound(context);
  if (error instanceof ApiRefused && error.problem.status === 403)
    return forbidden(context, error.problem.required ?? []);
  if (error instanceof ApiRefused && refusals.has(error.problem.status))
    return refused(context, error.problem);
  return null;
}

/**
 * Redirects to the sign-in page, which leads back. For a partial request the page stays: its script shows the reason.
 */
function toSignIn(context: ConsoleContext): Response | Promise<Response> {
  if (context.req.header("hx-request") === "true") return context.body(null, 401);
  const address = new URL("/sign-in", context.req.url);
  const back = whereFrom(context);
  if (back !== "/" && back !== firstPage(context.get("session"))) address.searchParams.set("return_to", back);
  if (context.get("session") !== null) address.searchParams.set("why", "ended");
  return context.redirect(address.pathname + address.search, 303);
}

/** The page of the request: for a form, the one that contained it; for a new server with its values in the query. */
function whereFrom(context: ConsoleContext): string {
  const url = new URL(context.req.url);
  if (context.req.method === "GET") return safeReturnPath(url.pathname + url.search);
  const page = formPage(context) ?? safeReturnPath(null);
  const form = context.get("form");
  if (form === undefined || !page.startsWith("/servers/new")) return page;
  const carried = new URLSearchParams(
    [...form].filter(
      ([name]) => !["idempotency_key", "intent", "new_key_text", "new_key_name"].includes(name),
    ),
  );
  return safeReturnPath(`/servers/new?${carried}`);
}

/** The page that contains the form of this request; null when the request is not from a form. */
function formPage(context: ConsoleContext): string | null {
  if (context.req.method !== "POST") return null;
  const from = URL.parse(context.req.header("referer") ?? "");
  return from === null ? null : safeReturnPath(from.pathname + from.search);
}

export function notFound(context: ConsoleContext) {
  const view = context.get("view");
  if (view === undefined) return context.text("Not found", 404);
  const { notFound: title, notFoundHint: hint } = view.messages.errors;
  return context.html(renderPage(<ErrorPage view={view} title={title} hint={hint} />), 404);
}

/** States that the role does not permit this, and who can change the role. */
export function forbidden(context: ConsoleContext, required: readonly string[]) {
  const view = context.get("view");
  const { errors } = view.messages;
  // Names of permissions are for operators; everybody else reads who can help.
  const isOperator = view.session?.operator === true;
  return context.html(
    renderPage(
      <ErrorPage
        view={view}
        title={errors.forbidden}
        hint={errors.forbiddenHint}
        formPage={formPage(context)}
        detail={required.length === 0 || !isOperator ? null : errors.missing(required.join(", "))}
      />,
    ),
    403,
  );
}

/** Forms with one of these fields are typed again: a page never contains passwords or codes. */
const secretFields = new Set([
  "password",
  "current_password",
  "new_password",
  "repeat_password",
  "code",
  "response",
  "private_key",
]);

function refused(context: ConsoleContext, problem: Problem) {
  const view = context.get("view");
  const { messages } = view;
  const hint = sentence(problemText(problem, messages), messages.locale);
  return context.html(
    renderPage(
      <ErrorPage view={view} title={messages.errors.refused} hint={hint} formPage={formPage(context)} />,
    ),
    problem.status as 409,
  );
}

function away(context: ConsoleContext) {
  const view = context.get("view");
  const { away: title, awayHint: hint } = view.messages.errors;
  const fields = context.get("form");
  const isSecret = fields !== undefined && [...fields.keys()].some((name) => secretFields.has(name));
  const resend = fields === undefined || isSecret ? null : { action: context.req.path, fields };
  context.header("retry-after", "5");
  return context.html(
    renderPage(
      <ErrorPage view={view} title={title} hint={hint} resend={resend} retry formPage={formPage(context)} />,
    ),
    503,
  );
}

export function broken(context: ConsoleContext) {
  const view = context.get("view");
  if (view === undefined) return context.text(`Something went wrong (${context.get("requestId")})`, 500);
  const { broken: title, brokenHint: hint } = view.messages.errors;
  return context.html(
    renderPage(<ErrorPage view={view} title={title} hint={hint} formPage={formPage(context)} />),
    500,
  );
}

export function badForm(context: ConsoleContext) {
  const view = context.get("view");
  // The sign-in form fails like this when the browser stores no cookies.
  if (context.req.path === "/sign-in" && context.req.header("cookie") === undefined)
    return context.redirect("/sign-in?why=cookies", 303);
  const { badForm: title, badFormHint: hint } = view.messages.errors;
  return context.html(
    renderPage(<ErrorPage view={view} title={title} hint={hint} formPage={formPage(context)} />),
    403,
  );
}

export function tooLarge(context: ConsoleContext) {
  const view = context.get("view");
  const { tooLarge: title, tooLargeHint: hint } = view.messages.errors;
  return context.html(
    renderPage(<ErrorPage view={view} title={title} hint={hint} formPage={formPage(context)} />),
    413,
  );
}
