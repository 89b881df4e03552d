import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { viewProvider } from "../account/index.ts";
import { beginOidcLogin } from "./begin-oidc-login.ts";
import { beginPasskeyLogin } from "./begin-passkey-login.ts";
import { completeLogin } from "./complete-login.ts";
import { checkConfirmPasswordReset, confirmPasswordReset } from "./confirm-password-reset.ts";
import { login } from "./login.ts";
import { loginWithOidc } from "./login-with-oidc.ts";
import { loginWithPasskey } from "./login-with-passkey.ts";
import { logout } from "./logout.ts";
import { requestPasswordReset } from "./request-password-reset.ts";
import { switchOrganisation } from "./switch-organisation.ts";

/** Sign-in and sign-out: the calls under `/auth`. */
export function mountSignIn(api: Api): void {
  operation(api, "login", { handle: login });
  operation(api, "completeLogin", { handle: completeLogin });
  operation(api, "beginPasskeyLogin", { handle: beginPasskeyLogin });
  operation(api, "loginWithPasskey", { handle: loginWithPasskey });
  operation(api, "listOidcProviders", {
    handle: async ({ deps }) =>
      reply(200, { items: deps.settings.oidcProviders.map(viewProvider), next_cursor: null }),
  });
  operation(api, "beginOidcLogin", { handle: beginOidcLogin });
  operation(api, "loginWithOidc", { handle: loginWithOidc });
  operation(api, "requestPasswordReset", { handle: requestPasswordReset });
  operation(api, "confirmPasswordReset", { check: checkConfirmPasswordReset, handle: confirmPasswordReset });
  operation(api, "logout", { handle: logout });
  operation(api, "switchOrganisation", { handle: switchOrganisation });
}
