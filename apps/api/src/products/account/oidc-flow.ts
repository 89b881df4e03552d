import type { OidcProvider } from "@kule/region-config/oidc-file";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import {
  authorizationUrl,
  confirmedPerson,
  doesNotHold,
  newOidcSecrets,
  type OidcPerson,
  type OidcSecrets,
} from "./oidc-client.ts";
import { databaseNowMs, openChallenge, sealChallenge, spendChallenge } from "./sealed-challenge.ts";
import { vaultOf } from "./totp.ts";

/** What the redirect to the provider is for. For a link and a proof: which person, and which session. */
export type FlowPurpose =
  | { readonly of: "login" }
  | { readonly of: "link" | "prove"; readonly userId: string; readonly sessionId: string };

type Flow = OidcSecrets & {
  readonly provider: string;
  readonly begunSeconds: number;
  /** The secret of the invitation that the person follows. */
  readonly invitation: string | null;
};

const lifetimeMs = 600_000;

const purposeText = (purpose: FlowPurpose) =>
  purpose.of === "login" ? "oidc login" : `oidc ${purpose.of} ${purpose.userId} ${purpose.sessionId}`;

/** @throws Invalid for a provider that the installation does not have */
export function providerCalled(request: ApiRequest, id: string): OidcProvider {
  const provider = request.deps.settings.oidcProviders.find((each) => each.id === id);
  if (provider === undefined)
    throw new Invalid([fieldError("/provider", "not_found", "no such provider of sign-ins")]);
  return provider;
}

/**
 * Redirects the browser to the provider. What the answer is checked against is sealed for the browser to
 * return; nothing is stored.
 */
export async function beginFlow(
  request: ApiRequest,
  purpose: FlowPurpose,
  provider: OidcProvider,
  invitation: string | null = null,
): Promise<Reply> {
  const secrets = newOidcSecrets();
  const vault = vaultOf(request.deps);
  const url = await authorizationUrl(request.deps, provider, secrets, purpose.of === "prove");
  const nowMs = await databaseNowMs(request.db);
  const flow: Flow = {
    ...secrets,
    provider: provider.id,
    begunSeconds: Math.floor(nowMs / 1000),
    invitation,
  };
  return reply(200, {
    flow: await sealChallenge(request.db, vault, purposeText(purpose), flow),
    authorization_url: url,
    expires_at: new Date(nowMs + lifetimeMs).toISOString(),
  });
}

export type EndedFlow = {
  readonly provider: OidcProvider;
  readonly person: OidcPerson;
  readonly invitation: string | null;
  readonly begunSeconds: number;
};

/**
 * The person whose identity the provider confirms in this flow. The flow is marked as used before the
 * provider is queried: of two concurrent requests with the same flow one is refused, whatever the provider
 * answers.
 *
 * @throws Unauthorized when the flow has another purpose, is late or used, or the answer belongs to another
 * one
 */
export async function endFlow(
  request: ApiRequest,
  purpose: FlowPurpose,
  answer: { readonly flow: string; readonly response: string },
): Promise<EndedFlow> {
  const { deps, db } = request;
  const opened = await openChallenge(db, vaultOf(deps), purposeText(purpose), answer.flow, lifetimeMs);
  const flow = opened as Flow | null;
  const provider = deps.settings.oidcProviders.find((each) => each.id === flow?.provider);
  if (flow === null || provider === undefined) throw doesNotHold();
  // Checked first, so that an attacker who sends a browser here with an answer of their own does not use up
  // its flow.
  if (new URLSearchParams(answer.response).get("state") !== flow.state) throw doesNotHold();
  if (!(await spendChallenge(db, flow.state))) throw doesNotHold();
  const person = await confirmedPerson(deps, provider, flow, answer.response);
  return { provider, person, invitation: flow.invitation, begunSeconds: flow.begunSeconds };
}
