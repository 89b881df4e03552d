import type { OidcProvider } from "@kule/region-config/oidc-file";
import type { OidcClaims } from "@kule/rules/identity/oidc";
import { notConfigured, signInRefused } from "@kule/rules/refusals";
import * as oidc from "openid-client";
import type { Deps } from "../../platform/deps.ts";
import { Conflict, Unauthorized, Unavailable } from "../../platform/errors.ts";

/** The person whose identity the provider has confirmed. */
export type OidcPerson = OidcClaims & {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | null;
  /** When the person authenticated at the provider, in seconds of the epoch; null when it does not say. */
  readonly authenticatedAt: number | null;
};

/** What the answer is checked against; the browser carries it sealed. */
export type OidcSecrets = { readonly state: string; readonly nonce: string; readonly verifier: string };

type Context = Pick<Deps, "settings" | "log">;

const timeoutSeconds = 8;
const rediscoverMs = 3_600_000;

type Known = { readonly configuration: Promise<oidc.Configuration>; readonly atMs: number };
const known = new WeakMap<OidcProvider, Known>();

export function newOidcSecrets(): OidcSecrets {
  return {
    state: oidc.randomState(),
    nonce: oidc.randomNonce(),
    verifier: oidc.randomPKCECodeVerifier(),
  };
}

/**
 * The address to redirect the browser to.
 *
 * @param anew whether the provider must authenticate the person again although it has a session for them
 * @throws Unavailable when the provider does not answer
 */
export async function authorizationUrl(
  deps: Context,
  provider: OidcProvider,
  secrets: OidcSecrets,
  anew: boolean,
): Promise<string> {
  const redirectUri = redirectUriOf(deps, provider);
  const configuration = await answering(deps, provider, () => configurationOf(provider));
  return oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid email profile",
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(secrets.verifier),
    code_challenge_method: "S256",
    ...(anew ? { prompt: "login", max_age: "0" } : {}),
  }).href;
}

/**
 * The person whose identity the provider confirms with this answer.
 *
 * @param response the query with which it redirected the browser back
 * @throws Unauthorized for an invalid answer
 * @throws Conflict when the provider itself refuses
 * @throws Unavailable when it does not answer
 */
export async function confirmedPerson(
  deps: Context,
  provider: OidcProvider,
  secrets: OidcSecrets,
  response: string,
): Promise<OidcPerson> {
  const place = new URL(redirectUriOf(deps, provider));
  place.search = response;
  return answering(deps, provider, async () => {
    const configuration = await configurationOf(provider);
    // Checks iss (RFC 9207) and state, then of the ID token signature, issuer, audience, times and nonce.
    const tokens = await oidc.authorizationCodeGrant(configuration, place, {
      expectedState: secrets.state,
      expectedNonce: secrets.nonce,
      pkceCodeVerifier: secrets.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error("an ID token without claims");
    if (!/^[\x20-\x7e]{1,255}$/.test(claims.sub)) throw new oidc.ClientError("a subject that cannot be one");
    const hasMore =
      claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
    const more = hasMore ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
    return personOf({ ...more, ...claims });
  });
}

function personOf(claims: Readonly<Record<string, unknown>> & { iss: string; sub: string }): OidcPerson {
  const text = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? value.trim() : null);
  const { amr, auth_time: at } = claims;
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: text(claims.email),
    emailVerified: claims.email_verified === true,
    name: text(claims.name) ?? text(claims.preferred_username),
    acr: text(claims.acr),
    amr: Array.isArray(amr) ? amr.filter((each) => typeof each === "string") : [],
    authenticatedAt: typeof at === "number" ? at : null,
  };
}

/** @throws Conflict in an installation whose panel has no address to which a provider could redirect */
function redirectUriOf({ settings }: Context, provider: OidcProvider): string {
  const [origin] = settings.consoleOrigins;
  // Each provider has its own redirect address, so that an answer of one is never taken for one of another.
  if (origin !== undefined) return `${origin}/sign-in/with/${provider.id}/callback`;
  throw new Conflict(
    notConfigured("panel_has_an_origin", "providers need to know where the panel is", {
      fix: "an operator sets KULE_CONSOLE_ORIGINS",
    }),
  );
}

/** The provider's metadata, fetched again every hour. Its keys are fetched again when one is unknown. */
function configurationOf(provider: OidcProvider): Promise<oidc.Configuration> {
  const now = Date.now();
  const before = known.get(provider);
  if (before !== undefined && now - before.atMs < rediscoverMs) return before.configuration;
  const configuration = discover(provider);
  known.set(provider, { configuration, atMs: now });
  // One that failed is tried again at once.
  configuration.catch(() => known.delete(provider));
  return configuration;
}

async function discover(provider: OidcProvider): Promise<oidc.Configuration> {
  const issuer = new URL(provider.issuer);
  const isPlain = issuer.protocol === "http:";
  const found = await oidc.discovery(issuer, provider.clientId, undefined, oidc.None(), {
    timeout: timeoutSeconds,
    execute: isPlain ? [oidc.allowInsecureRequests] : [],
  });
  const metadata = found.serverMetadata();
  // For some vendors the library accepts the issuers of all of their customers; people are identified by one
  // issuer.
  if (new URL(metadata.issuer).href !== issuer.href)
    throw new oidc.ClientError("the provider calls itself by another issuer");
  const secret = provider.clientSecret.reveal();
  // Without a list the specification's default, which is the same.
  const isPost = metadata.token_endpoint_auth_methods_supported?.includes("client_secret_basic") === false;
  const configuration = new oidc.Configuration(
    metadata,
    provider.clientId,
    undefined,
    isPost ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret),
  );
  configuration.timeout = timeoutSeconds;
  if (isPlain) oidc.allowInsecureRequests(configuration);
  // The signature too, although the token comes straight from the provider: a proxy in between must not be
  // trusted.
  oidc.enableNonRepudiationChecks(configuration);
  return configuration;
}

/** Turns errors of the provider into refusals. Of its answers only error codes are logged. */
async function answering<Result>(
  { log }: Context,
  provider: OidcProvider,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof oidc.AuthorizationResponseError) throw declined(provider, error.error);
    const said = error instanceof oidc.ResponseBodyError ? error.error : null;
    if (said === "invalid_grant") throw doesNotHold();
    if (said !== null || isNoAnswer(error)) {
      log.warn(
        { err: error, provider: provider.id, said: errorCode(said) },
        "a sign-in provider does not answer",
      );
      throw new Unavailable(`${provider.label} does not answer; sign in another way or try again`, 5, error);
    }
    if (!(error instanceof oidc.ClientError)) throw error;
    log.warn({ err: error, provider: provider.id }, "an answer of a sign-in provider is invalid");
    throw doesNotHold();
  }
}

/** The connection failed or the provider is broken; not that it refused. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof TypeError) return true;
  return (
    error instanceof oidc.ClientError &&
    ["OAUTH_TIMEOUT", "OAUTH_ABORT", "OAUTH_RESPONSE_IS_NOT_CONFORM", "OAUTH_RESPONSE_IS_NOT_JSON"].includes(
      error.code ?? "",
    )
  );
}

/** The closed form of RFC 6749's error codes: other text in an address is not repeated. */
const errorCode = (text: string | null) => (text !== null && /^[a-z_]{1,60}$/.test(text) ? text : "unknown");

function declined(provider: OidcProvider, error: string): Conflict {
  const message = `${provider.label} did not sign you in (${errorCode(error)})`;
  return new Conflict(
    signInRefused("provider_agreed", message, {
      fix: "try again, or sign in another way",
    }),
  );
}

/** One answer for whatever is wrong with an answer, late and used ones included. */
export function doesNotHold(): Unauthorized {
  return new Unauthorized("the provider's answer does not hold or came too late; start again");
}
