import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import type { FakeState } from "./fake-state.ts";

/** The only secret that sets a password here, once. */
export const resetSecret = "kule_pwr_of-the-tests";

/** Password resets: the links that an operator creates, and their use. */
export function registerPasswordResets(operation: Operation, state: FakeState): void {
  let isOpen = false;
  operation<Schemas["PasswordResetRequest"]>(
    "post",
    "/auth/password-reset",
    "requestPasswordReset",
    ({ body, fail }) => {
      if (!state.sendsMail)
        return fail(409, "not_configured", "no mail is sent here", {
          precondition: {
            name: "installation_sends_mail",
            code: "not_configured",
            message: "no mail is sent here",
            resource: null,
            fix: "ask the operator",
          },
        });
      if (state.resetMails.filter(({ email }) => email === body.email).length >= 3)
        return fail(429, "rate_limited", "too many links were asked for");
      state.resetMails.push(body);
      return { status: 202 };
    },
    true,
  );
  operation("post", "/members/:id/password-reset", "createPasswordReset", () => {
    isOpen = true;
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    return { status: 201, body: { secret: resetSecret, expires_at } satisfies Schemas["PasswordReset"] };
  });
  operation<Schemas["PasswordResetConfirm"]>(
    "post",
    "/auth/password-reset/confirm",
    "confirmPasswordReset",
    ({ body, fail }) => {
      if (!isOpen || body.secret !== resetSecret)
        return fail(422, "validation_failed", "The request is wrong", {
          errors: [{ field: "secret", code: "not_found", message: "sets no password", pointer: "/secret" }],
        });
      isOpen = false;
      return { status: 204 };
    },
    true,
  );
}
