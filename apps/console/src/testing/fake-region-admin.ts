import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import { page } from "./fake-page.ts";
import { fakeId } from "./fake-records.ts";
import { fakeRegion } from "./fake-regions.ts";
import type { FakeState } from "./fake-state.ts";

/** Registers regions, and mints, replaces and revokes their agents' tokens. */
export function registerRegionAdmin(operation: Operation, state: FakeState): void {
  const find = (slug: string | undefined) => state.regions.find((each) => each.slug === slug);
  operation<Schemas["RegionCreate"]>("post", "/regions", "createRegion", ({ body, fail }) => {
    if (find(body.slug) !== undefined) return fail(409, "name_taken", `a region ${body.slug} exists`);
    const region = {
      ...fakeRegion,
      mode: "agent" as const,
      country: null,
      ...body,
      restricted_to: body.restricted_to ?? null,
    };
    state.regions.push(region);
    return { status: 201, body: region };
  });
  operation("get", "/regions/:region", "getRegion", ({ params, fail }) => {
    const region = find(params.region);
    return region === undefined ? fail(404, "not_found", "no such region") : { status: 200, body: region };
  });
  operation("get", "/regions/:region/agent-tokens", "listAgentTokens", ({ query }) =>
    page(state.agentTokens, query),
  );
  operation<Schemas["AgentTokenCreate"]>(
    "post",
    "/regions/:region/agent-tokens",
    "createAgentToken",
    ({ params, body }) => mint(state, params.region ?? "", body.name),
  );
  operation<Schemas["TokenRotate"] | undefined>(
    "post",
    "/regions/:region/agent-tokens/:id/rotate",
    "rotateAgentToken",
    ({ params, body, fail }) => {
      const old = state.agentTokens.find(({ id }) => id === params.id);
      if (old === undefined || old.revoked_at !== null) return fail(404, "not_found", "no such token");
      const overlapMs = (body?.overlap_seconds ?? 600) * 1000;
      Object.assign(old, { expires_at: new Date(Date.now() + overlapMs).toISOString() });
      return mint(state, params.region ?? "", old.name);
    },
  );
  operation("delete", "/regions/:region/agent-tokens/:id", "revokeAgentToken", ({ params, fail }) => {
    const token = state.agentTokens.find(({ id }) => id === params.id);
    if (token === undefined) return fail(404, "not_found", "no such token");
    Object.assign(token, { revoked_at: new Date().toISOString() });
    return { status: 204 };
  });
  operation<Schemas["AgentKeyApproval"]>(
    "post",
    "/regions/:region/agent-key",
    "approveAgentKey",
    ({ params, body, fail }) => {
      const region = find(params.region);
      const key = region?.agent_key ?? null;
      if (region === undefined || key?.pending?.fingerprint !== body.fingerprint)
        return fail(409, "invalid_state", "no such key of an agent waits");
      const { fingerprint, since, last_reported_at } = key.pending;
      region.agent_key = { fingerprint, since, last_reported_at, pending: null };
      return { status: 200, body: region };
    },
  );
  operation("delete", "/regions/:region/agent-key/pending", "refuseAgentKey", ({ params, fail }) => {
    const region = find(params.region);
    const key = region?.agent_key ?? null;
    if (region === undefined || key === null || key.pending === null)
      return fail(409, "invalid_state", "no such key of an agent waits");
    region.agent_key = { ...key, pending: null };
    return { status: 200, body: region };
  });
  operation("get", "/operator/invariants", "getInvariants", ({ query, fail }) => {
    if (query.get("fresh") !== "true") return { status: 200, body: state.invariants };
    return state.workerIsAway
      ? fail(503, "unavailable", "No worker has answered")
      : { status: 200, body: { ...state.invariants, checked_at: new Date().toISOString(), age_seconds: 0 } };
  });
}

function mint(state: FakeState, region: string, name: string) {
  const id = fakeId("tok");
  const prefix = `kule_agt_${id.slice(4)}`;
  const token: Schemas["Token"] = {
    id,
    kind: "agent",
    name,
    prefix,
    role: null,
    scopes: [],
    region,
    created_by: null,
    created_at: new Date().toISOString(),
    expires_at: null,
    last_used_at: null,
    revoked_at: null,
    operator_reason: null,
  };
  state.agentTokens.push(token);
  const body: Schemas["TokenWithSecret"] = { token, secret: `${prefix}_Boğaz-7c1e` };
  return { status: 201, body };
}
