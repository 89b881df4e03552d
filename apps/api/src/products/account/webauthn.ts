import { notConfigured } from "@kule/rules/refusals";
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { Deps } from "../../platform/deps.ts";
import { Conflict } from "../../platform/errors.ts";
import type { PasskeyRow } from "./passkey-store.ts";

/** Loaded with the first passkey: its readers of certificates take several megabytes. */
const library = () => import("@simplewebauthn/server");

/** The pages that may use passkeys. A passkey belongs to a domain, and no other page can request it. */
type RelyingParty = { readonly id: string; readonly origins: readonly string[] };

/** @throws Conflict in an installation whose panel has no domain of its own */
function relyingPartyOf({ settings }: Pick<Deps, "settings">): RelyingParty {
  const urls = settings.consoleOrigins.map((origin) => new URL(origin));
  const first = urls.find(({ hostname }) => !/^[\d.]+$|^\[/.test(hostname));
  if (first === undefined)
    throw new Conflict(
      notConfigured("panel_has_a_domain", "passkeys need a domain for the panel", {
        fix: "an operator sets KULE_CONSOLE_ORIGINS",
      }),
    );
  return {
    id: first.hostname,
    origins: urls.filter(({ hostname }) => hostname === first.hostname).map(({ origin }) => origin),
  };
}

/** Every use requires user verification: a found passkey opens nothing. */
const userVerification = "required" as const;

export async function registrationOptions(
  deps: Pick<Deps, "settings">,
  user: { readonly id: string; readonly email: string; readonly name: string },
  existing: readonly PasskeyRow[],
) {
  return (await library()).generateRegistrationOptions({
    rpName: "Kule",
    rpID: relyingPartyOf(deps).id,
    userID: new Uint8Array(Buffer.from(user.id)),
    userName: user.email,
    userDisplayName: user.name,
    attestationType: "none",
    excludeCredentials: existing.map(descriptor),
    authenticatorSelection: { residentKey: "required", userVerification },
  });
}

/** @param allowed null: the passkey that the person chooses says who they are */
export async function authenticationOptions(
  deps: Pick<Deps, "settings">,
  allowed: readonly PasskeyRow[] | null,
) {
  return (await library()).generateAuthenticationOptions({
    rpID: relyingPartyOf(deps).id,
    userVerification,
    ...(allowed === null ? {} : { allowCredentials: allowed.map(descriptor) }),
  });
}

export type NewPasskey = Pick<
  PasskeyRow,
  "credential" | "public_key" | "sign_count" | "transports" | "is_synced"
>;

/** What the browser answered to a registration, or null when it is invalid. */
export async function verifiedRegistration(
  deps: Pick<Deps, "settings">,
  challenge: string,
  response: unknown,
): Promise<NewPasskey | null> {
  const { id, origins } = relyingPartyOf(deps);
  try {
    const { verified, registrationInfo } = await (await library()).verifyRegistrationResponse({
      response: response as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: true,
    });
    if (!verified || registrationInfo === undefined) return null;
    const { credential, credentialBackedUp } = registrationInfo;
    return {
      credential: credential.id,
      public_key: Buffer.from(credential.publicKey),
      sign_count: String(credential.counter),
      transports: credential.transports ?? [],
      is_synced: credentialBackedUp,
    };
  } catch {
    // The library throws for an invalid answer, and for data that is no answer of a browser at all.
    return null;
  }
}

/** The passkey's count of uses after this one, or null when the answer is invalid. */
export async function verifiedUse(
  deps: Pick<Deps, "settings">,
  challenge: string,
  passkey: PasskeyRow,
  response: unknown,
): Promise<number | null> {
  const { id, origins } = relyingPartyOf(deps);
  try {
    const { verified, authenticationInfo } = await (await library()).verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: passkey.credential,
        publicKey: new Uint8Array(passkey.public_key),
        counter: Number(passkey.sign_count),
        transports: passkey.transports as AuthenticatorTransport[],
      },
    });
    return verified ? authenticationInfo.newCounter : null;
  } catch {
    return null;
  }
}

const descriptor = (passkey: PasskeyRow) => ({
  id: passkey.credential,
  transports: passkey.transports as AuthenticatorTransport[],
});
