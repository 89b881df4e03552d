import type { Schemas } from "@kule/contract/schemas";
import type { Operation } from "./fake-operation.ts";
import { page } from "./fake-page.ts";
import { fakeId } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

export function fakeEntry(
  fields: Partial<Schemas["AuditEntry"]> & { readonly action: string },
): Schemas["AuditEntry"] {
  return {
    id: fakeId("aud"),
    at: new Date().toISOString(),
    actor: { type: "user", id: "usr_ada", name: "Ada Lovelace" },
    resource: null,
    organisation_id: null,
    outcome: "succeeded",
    http_status: 200,
    code: null,
    request_id: crypto.randomUUID(),
    source_address: "192.0.2.7",
    details: {},
    ...fields,
  };
}

export function registerAudit(operation: Operation, state: FakeState): void {
  operation("get", "/audit", "listAudit", ({ query, headers, token }) => {
    const organisation = headers.get("kule-organisation") ?? state.userOf(token).organisation?.id ?? null;
    const is = (name: string, value: string | null) => !query.has(name) || query.get(name) === value;
    const found = state.audit.filter(
      (entry) =>
        (organisation === null || entry.organisation_id === organisation) &&
        is("actor", entry.actor.id) &&
        is("action", entry.action) &&
        is("resource", entry.resource) &&
        is("outcome", entry.outcome) &&
        (!query.has("from") || entry.at >= (query.get("from") ?? "")) &&
        (!query.has("to") || entry.at < (query.get("to") ?? "")),
    );
    return page(found, query);
  });
}
