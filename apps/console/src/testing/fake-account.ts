import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import { fakeId } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

/** Sign-in methods and sessions of the fake API's people; the changes are tested with the real API. */
export function registerAccount(operation: Operation, state: FakeState): void {
  const now = new Date().toISOString();
  const session = (current: boolean): Schemas["LoginSession"] => ({
    id: fakeId("tok"),
    current,
    organisation: null,
    opened_by: "password",
    provider: null,
    user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    source_address: "192.0.2.7",
    created_at: now,
    last_used_at: now,
    expires_at: new Date(Date.now() + 3600_000).toISOString(),
  });
  operation("get", "/me/security", "getSecurity", () => ({
    status: 200,
    body: {
      has_password: true,
      password_changed_at: now,
      totp: state.hasTwoFactor ? { confirmed_at: now } : null,
      passkeys: state.hasTwoFactor
        ? [{ id: fakeId("psk"), name: "laptop", is_synced: false, created_at: now, last_used_at: null }]
        : [],
      identities: state.hasProvider
        ? [
            {
              id: fakeId("idn"),
              provider: { id: "acme", label: "Acme ID" },
              issuer: "https://id.acme.example",
              email: "ada@acme.example",
              created_at: now,
              last_used_at: null,
            },
          ]
        : [],
      second_factor_reset_at: null,
      recovery_codes_left: state.hasTwoFactor ? 8 : 0,
      proven_until: null,
    } satisfies Schemas["AccountSecurity"],
  }));
  operation("put", "/me/password", "changePassword", () => ({ status: 204 }));
  operation("get", "/me/sessions", "listSessions", () => ({
    status: 200,
    body: { items: [session(true), session(false)], next_cursor: null },
  }));
  operation(
    "post",
    "/auth/passkey-options",
    "beginPasskeyLogin",
    () => ({
      status: 200,
      body: { ceremony: fakeId("cer"), options: { challenge: "AAAA" } } satisfies Schemas["PasskeyCeremony"],
    }),
    true,
  );
  operation("post", "/me/passkey-options", "beginPasskey", () => ({
    status: 200,
    body: { ceremony: fakeId("cer"), options: { challenge: "AAAA" } } satisfies Schemas["PasskeyCeremony"],
  }));
  operation("post", "/me/totp", "beginTotp", () => ({
    status: 200,
    body: { secret: "JBSWY3DPEHPK3PXP", otpauth_uri: "otpauth://totp/Kule:ada?secret=JBSWY3DPEHPK3PXP" },
  }));
}
