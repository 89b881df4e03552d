import { randomUUID } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OidcProvider } from "@kule/region-config/oidc-file";
import { Secret } from "@kule/region-config/secret";
import { type OidcTwist, type SoftPerson, SoftProvider, softClient } from "@kule/testing/oidc/soft-provider";
import type { ApiCaller } from "./api-caller.ts";

/** The entry of a soft provider in an installation's file. */
export function providerEntry(
  provider: { readonly issuer: string },
  more: Partial<OidcProvider> = {},
): OidcProvider {
  return {
    id: "soft",
    label: "Soft ID",
    issuer: provider.issuer,
    clientId: softClient.id,
    clientSecret: new Secret(softClient.secret, "a test"),
    emailDomains: null,
    signUp: null,
    secondFactor: null,
    ...more,
  };
}

/** The providers of every test installation that names no others; empty until a test needs one. */
export const sharedProviders: OidcProvider[] = [];
let shared: Promise<SoftProvider> | null = null;

/** One provider for all worlds of this process, which ends with it. */
export function sharedProvider(): Promise<SoftProvider> {
  shared ??= SoftProvider.start().then((provider) => {
    provider.letProcessEnd();
    sharedProviders.push(providerEntry(provider));
    return provider;
  });
  return shared;
}

/** The settings of an API in a process of its own, so that it has the shared provider, too. */
export async function sharedProviderFile(): Promise<Readonly<Record<string, string>>> {
  const { issuer } = await sharedProvider();
  const file = join(mkdtempSync(join(tmpdir(), "kule-oidc-")), "oidc.yaml");
  const entry = {
    id: "soft",
    label: "Soft ID",
    issuer,
    client_id: softClient.id,
    client_secret_env: "SOFT_SECRET",
  };
  writeFileSync(file, JSON.stringify({ providers: [entry] }));
  return { KULE_OIDC_FILE: file, SOFT_SECRET: softClient.secret };
}

let people = 0;

/** A person who is new to the installation. */
export function newSoftPerson(): SoftPerson {
  people += 1;
  const sub = `person-${people}-${randomUUID()}`;
  return { sub, email: `${sub}@soft.example`, email_verified: true, name: `Soft Person ${people}` };
}

type Begin = { readonly path: string; readonly body: object };

/** Begins a sign-in, follows the redirect to the provider and back, and returns the API's next body. */
export async function answerOf(
  caller: ApiCaller,
  provider: SoftProvider,
  person: SoftPerson,
  begin: Begin = { path: "/auth/oidc/authorization", body: { provider: "soft" } },
  twist: OidcTwist = {},
): Promise<{ flow: string; response: string }> {
  const begun = await caller.post(begin.path, begin.body);
  if (begun.status !== 200) throw new Error(`${begun.status} ${JSON.stringify(begun.body)}`);
  return { flow: begun.body.flow, response: provider.answer(begun.body.authorization_url, person, twist) };
}

/** The same for a flow that a session begins for its own person. */
export const ownAnswer = (
  caller: ApiCaller,
  provider: SoftProvider,
  person: SoftPerson,
  purpose: "link" | "prove",
  twist: OidcTwist = {},
) =>
  answerOf(
    caller,
    provider,
    person,
    { path: "/me/identities/authorization", body: { provider: "soft", purpose } },
    twist,
  );
