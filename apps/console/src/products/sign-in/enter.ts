import { type ApiClient, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { read } from "../../api.ts";
import type { ConsoleContext, ConsoleServices } from "../../console-context.ts";
import { forwarded } from "../../forwarded.ts";
import { firstPage, openSession } from "../../session.ts";

/** API calls without a session. */
export function visitorsClient({ settings }: ConsoleServices, context: ConsoleContext): ApiClient {
  return createApiClient({
    baseUrl: settings.apiUrl,
    send: context.get("sendToApi"),
    headers: { "x-request-id": context.get("requestId"), ...forwarded(context, settings) },
  });
}

/** Stores the session that the API has opened, and redirects to the requested page; for `/` to the person's first. */
export async function enter(
  { settings, cookies }: ConsoleServices,
  context: ConsoleContext,
  opened: Schemas["Session"],
  returnTo: string,
): Promise<Response> {
  const asUser = createApiClient({
    baseUrl: settings.apiUrl,
    token: opened.token,
    readRetries: 0,
    send: context.get("sendToApi"),
    headers: forwarded(context, settings),
  });
  const me = await read(asUser.GET("/me"));
  cookies.clearPending(context);
  const session = openSession(opened, me);
  await cookies.writeSession(context, session);
  return context.redirect(returnTo === "/" ? firstPage(session) : returnTo, 303);
}
