import { attempt, clientFor, conflictOf, read } from "../../api.ts";
import { type ConsoleContext, type ConsoleServices, sessionOf } from "../../console-context.ts";
import { openSession } from "../../session.ts";

/**
 * Puts a session of the other organisation in the place of this one. Its forms have tokens of their own: what a tab
 * still shows of the organisation before cannot be sent into this one.
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
    // No organisation of this person: the page that lists theirs.
    return context.redirect("/switch-organisation", 303);
  }
  const me = await read(
    clientFor(settings, { ...sessionOf(context), token: outcome.data.token }, context).GET("/me"),
  );
  await cookies.writeSession(context, openSession(outcome.data, me));
  return context.redirect("/servers", 303);
}
