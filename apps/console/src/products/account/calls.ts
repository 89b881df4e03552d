import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import type { AccountPageProps } from "./props.ts";

/** All actions of the account's page as calls; those on sessions and passkeys use the first one. */
export function accountCalls({
  sessions,
  security,
  providers,
}: AccountPageProps): readonly CalledOperation[] {
  const other = sessions.find(({ current }) => !current);
  const [passkey] = security.passkeys;
  const [identity] = security.identities;
  const [provider] = providers;
  const path = { passkey_id: passkey?.id ?? "" };
  const calls: readonly (CalledOperation | null)[] = [
    { operation: "getSecurity" },
    { operation: "listSessions" },
    other === undefined ? null : { operation: "revokeSession", path: { login_session_id: other.id } },
    { operation: "revokeOtherSessions" },
    {
      operation: "changePassword",
      body: {
        current_password: "correct horse battery staple",
        new_password: "seven brave otters swam home",
        end_tokens: false,
      },
    },
    { operation: "beginTotp" },
    { operation: "replaceRecoveryCodes" },
    { operation: "removeTotp" },
    passkey === undefined ? null : { operation: "renamePasskey", path, body: { name: passkey.name } },
    passkey === undefined ? null : { operation: "removePasskey", path },
    provider === undefined
      ? null
      : { operation: "beginIdentity", body: { provider: provider.id, purpose: "link" } },
    identity === undefined ? null : { operation: "unlinkIdentity", path: { identity_id: identity.id } },
  ];
  return calls.filter((call) => call !== null);
}

/** The calls that confirm the person's identity; by a provider, with the first one. */
export function proofCalls([provider]: readonly Schemas["OidcProvider"][]): readonly CalledOperation[] {
  return [
    { operation: "proveIdentity", body: { password: "correct horse battery staple" } },
    ...(provider === undefined
      ? []
      : [{ operation: "beginIdentity", body: { provider: provider.id, purpose: "prove" } } as const]),
  ];
}
