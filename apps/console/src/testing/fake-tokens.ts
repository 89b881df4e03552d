import type { Schemas } from "@kule/contract/schemas";
import { uselessScopes } from "@kule/rules/identity/permissions";
import type { Operation } from "./fake-operation.ts";
import { page } from "./fake-page.ts";
import { fakeId } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

type Token = Schemas["Token"];

export function fakeToken(fields: Partial<Token> & { readonly name: string }): Token {
  const id = fakeId("tok");
  return {
    id,
    kind: "organisation",
    prefix: `kule_pat_${id.slice(4)}`,
    role: "member",
    scopes: [],
    region: null,
    created_by: null,
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 90 * 86_400_000).toISOString(),
    last_used_at: null,
    revoked_at: null,
    operator_reason: null,
    ...fields,
  };
}

/** The organisation's tokens; their secrets are only in the answers that mint them. */
export function registerTokens(operation: Operation, state: FakeState): void {
  const mint = (fields: Parameters<typeof fakeToken>[0]): Schemas["TokenWithSecret"] => {
    const token = fakeToken(fields);
    state.tokens.unshift(token);
    return { token, secret: `${token.prefix}_${crypto.randomUUID()}` };
  };
  const find = (id: string | undefined) => state.tokens.find((token) => token.id === id);
  const end = (token: Token) => Object.assign(token, { revoked_at: new Date().toISOString() });

  operation("get", "/tokens", "listTokens", ({ query }) => page(state.tokens, query));
  operation<Schemas["TokenCreate"]>("post", "/tokens", "createToken", ({ body, fail }) => {
    const role = body.role ?? "member";
    const scopes = body.scopes ?? [];
    const errors = uselessScopes(role, scopes).map((scope) => ({
      field: `scopes[${scopes.indexOf(scope)}]`,
      code: "not_one_of" as const,
      message: `covers nothing that the role ${role} may do`,
      pointer: `/scopes/${scopes.indexOf(scope)}`,
    }));
    if (errors.length > 0) return fail(422, "validation_failed", "The request is wrong", { errors });
    const days = body.expires_in_days ?? 90;
    const expires_at = new Date(Date.now() + days * 86_400_000).toISOString();
    return { status: 201, body: mint({ name: body.name, role, scopes, expires_at }) };
  });
  operation<Schemas["TokenRotate"]>("post", "/tokens/:id/rotate", "rotateToken", ({ params, body, fail }) => {
    const token = find(params.id);
    if (token === undefined) return fail(404, "not_found", "No such resource");
    if (token.revoked_at !== null) return fail(409, "invalid_state", "The token is revoked; mint a new one");
    const overlap = body.overlap_seconds ?? 0;
    if (overlap === 0) end(token);
    else Object.assign(token, { expires_at: new Date(Date.now() + overlap * 1000).toISOString() });
    return { status: 201, body: mint({ name: token.name, role: token.role, scopes: token.scopes }) };
  });
  operation("delete", "/tokens/:id", "revokeToken", ({ params, fail }) => {
    const token = find(params.id);
    if (token === undefined) return fail(404, "not_found", "No such resource");
    end(token);
    return { status: 204 };
  });
}
