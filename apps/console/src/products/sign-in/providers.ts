import type { Schemas } from "@kule/contract/schemas";
import type { ConsoleContext, ConsoleServices } from "../../console-context.ts";
import { visitorsClient } from "./enter.ts";

type Provider = Schemas["OidcProvider"];

/** The sign-in providers; none when the API is away, which the password form reports better. */
export async function listProviders(
  services: ConsoleServices,
  context: ConsoleContext,
): Promise<readonly Provider[]> {
  const answer = await visitorsClient(services, context)
    .GET("/auth/oidc/providers")
    .catch(() => null);
  return answer?.data?.items ?? [];
}

/**
 * The texts of a sign-in or a link that failed: `why` is from a closed list, so the address cannot show any other text.
 */
export function providerTrouble(
  context: ConsoleContext,
  providers: readonly Provider[],
  why: string,
): string | null {
  const { providers: text } = context.get("view").messages;
  const known = providers.find(({ id }) => id === context.req.query("with"));
  const label = known?.label ?? "OpenID";
  if (Object.hasOwn(text.refused, why)) return text.refused[why]?.(label) ?? null;
  if (why === "provider_away") return text.away(label);
  if (why === "provider_failed") return text.failed;
  if (why === "provider_gone") return text.gone;
  if (why === "provider_unset") return text.notConfigured;
  return why === "provider_tries" ? text.tooMany : null;
}

/** The reason of that list for the API's refusal. */
export function troubleOf(answer: { response: Response; error?: unknown } | null): string {
  if (answer === null) return "provider_away";
  const problem = answer.error as Partial<Schemas["Problem"]> | undefined;
  if (problem?.code === "sign_in_refused") return problem.precondition?.name ?? "provider_failed";
  if (problem?.code === "not_configured") return "provider_unset";
  const { status } = answer.response;
  if (status === 429) return "provider_tries";
  if (status === 422 && problem?.errors?.some(({ pointer }) => pointer === "/provider"))
    return "provider_gone";
  return status >= 500 ? "provider_away" : "provider_failed";
}
