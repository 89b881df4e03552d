import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api, Deps } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { addPasskey } from "./add-passkey.ts";
import { beginIdentity } from "./begin-identity.ts";
import { beginTotp } from "./begin-totp.ts";
import { changePassword, checkChangePassword } from "./change-password.ts";
import { confirmTotp } from "./confirm-totp.ts";
import { findOwnIdentity, listIdentities, providerOf, viewIdentity } from "./identity-store.ts";
import { linkIdentity } from "./link-identity.ts";
import { beginPasskey } from "./passkey-ceremonies.ts";
import { findPasskey, listPasskeys } from "./passkey-store.ts";
import { personOf } from "./person.ts";
import { provenUntil } from "./proof.ts";
import { proveIdentity } from "./prove-identity.ts";
import { removePasskey } from "./remove-passkey.ts";
import { removeTotp } from "./remove-totp.ts";
import { renamePasskey } from "./rename-passkey.ts";
import { replaceRecoveryCodes } from "./replace-recovery-codes.ts";
import { revokeOtherSessions } from "./revoke-other-sessions.ts";
import { revokeSession } from "./revoke-session.ts";
import { findSecondFactors, hasSecondFactor } from "./second-factor-store.ts";
import { findSession, listSessions, type SessionRow } from "./session-store.ts";
import { unlinkIdentity } from "./unlink-identity.ts";
import { findUser } from "./user-store.ts";
import { viewMe } from "./view-me.ts";
import { viewPasskey } from "./view-passkey.ts";

/** What a person does about their own account, whatever their role: sessions and how they sign in. */
export function mountAccount(api: Api): void {
  operation(api, "getMe", { handle: async ({ caller }) => reply(200, viewMe(caller)) });
  operation(api, "listSessions", {
    handle: async (request) => {
      const { id, sessionId } = personOf(request);
      const rows = await listSessions(request.db, id);
      return reply(200, {
        items: rows.map((row) => viewSession(request.deps, row, sessionId)),
        next_cursor: null,
      });
    },
  });
  operation(api, "revokeSession", {
    find: (request) =>
      findSession(request.db, personOf(request).id, request.pathId("login_session_id", "tok")),
    handle: revokeSession,
  });
  operation(api, "revokeOtherSessions", { handle: revokeOtherSessions });
  operation(api, "changePassword", { check: checkChangePassword, handle: changePassword });
  operation(api, "getSecurity", {
    handle: async (request) => {
      const { id, sessionId } = personOf(request);
      const user = await findUser(request.db, id);
      const factors = await findSecondFactors(request.db, id);
      const resetAt = hasSecondFactor(factors) ? null : user.second_factor_reset_at;
      const until = await provenUntil(request.db, sessionId);
      return reply(200, {
        has_password: user.has_password,
        password_changed_at: user.password_changed_at?.toISOString() ?? null,
        totp:
          factors.totpConfirmedAt === null ? null : { confirmed_at: factors.totpConfirmedAt.toISOString() },
        passkeys: (await listPasskeys(request.db, id)).map(viewPasskey),
        identities: (await listIdentities(request.db, id)).map((row) => viewIdentity(request.deps, row)),
        recovery_codes_left: factors.recoveryCodesLeft,
        second_factor_reset_at: resetAt?.toISOString() ?? null,
        proven_until: until?.toISOString() ?? null,
      });
    },
  });
  operation(api, "proveIdentity", { handle: proveIdentity });
  operation(api, "beginTotp", { handle: beginTotp });
  operation(api, "confirmTotp", { handle: confirmTotp });
  operation(api, "removeTotp", { handle: removeTotp });
  operation(api, "replaceRecoveryCodes", { handle: replaceRecoveryCodes });
  const find = (request: ApiRequest<"renamePasskey" | "removePasskey">) =>
    findPasskey(request.db, personOf(request).id, request.pathId("passkey_id", "psk"));
  operation(api, "beginPasskey", { handle: beginPasskey });
  operation(api, "addPasskey", { handle: addPasskey });
  operation(api, "renamePasskey", { find, handle: renamePasskey });
  operation(api, "removePasskey", { find, handle: removePasskey });
  operation(api, "beginIdentity", { handle: beginIdentity });
  operation(api, "linkIdentity", { handle: linkIdentity });
  operation(api, "unlinkIdentity", {
    find: (request) =>
      findOwnIdentity(request.db, personOf(request).id, request.pathId("identity_id", "idn")),
    handle: unlinkIdentity,
  });
}

function viewSession(
  deps: Pick<Deps, "settings">,
  row: SessionRow,
  currentId: string,
): Schemas["LoginSession"] {
  const { organisation_id: id, organisation_slug: slug, organisation_name: name } = row;
  if (row.expires_at === null) throw new Error("a session without an end");
  return {
    id: row.id,
    current: row.id === currentId,
    organisation: id === null ? null : { id, slug: slug ?? "", name: name ?? "" },
    opened_by: (row.opened_by as Schemas["LoginSession"]["opened_by"] | null) ?? "unknown",
    provider: row.issuer === null ? null : (providerOf(deps, row.issuer)?.label ?? row.issuer),
    user_agent: row.user_agent,
    source_address: row.source_address,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at.toISOString(),
  };
}
