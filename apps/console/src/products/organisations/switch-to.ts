import { attempt, clientFor, conflictOf, read } from "../../api.ts";
import { type ConsoleContext, type ConsoleServices, sessionOf } from "../../console-context.ts";
import { openSession } from "../../session.ts";

/**
 * Replaces this session with one of the other organisation. Its form tokens are new, so that a tab that still shows the
 * previous organisation cannot send its forms into this one.
 */
export async function switchTo(
  context: ConsoleContext,
  { cookies, settings }: ConsoleServices,
  organisationId: string,
): Promise<Response> {
  const outcome = await attempt(
    context.get("api").POST("/auth/switch-organisation", { body: { organisation_id: organisationId } }),
  );
  if (outcome.kind !== "done") {
    conflictOf(outcome);
    // Not an organisation of this person: redirect to the list of theirs.
    return context.redirect("/switch-organisation", 303);
  }
  const me = await read(
    clientFor(settings, { ...sessionOf(context), token: outcome.data.token }, context).GET("/me"),
  );
  await cookies.writeSession(context, openSession(outcome.data, me));
  return context.redirect("/servers", 303);
}
