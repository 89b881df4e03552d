import type { OperationId } from "@kule/contract/schemas";
import {
  bodySchema,
  type JsonSchema,
  resolved,
  responseSchema,
  successStatus,
} from "@kule/testing/contract/contract-schema";

/** Fields that no caller may set, whether any answer shows them or not. */
const internals = [
  "id",
  "organisation_id",
  "organisation",
  "user_id",
  "is_operator",
  "is_default",
  "kind",
  "status",
  "role",
  "region",
  "mode",
  "vmid",
  "vlan",
  "mac",
  "epoch",
  "lease_until",
  "claim_id",
  "attempt",
  "priority",
  "permissions",
  "secret",
  "secret_hash",
  "password_hash",
  "power_state",
  "purge_at",
  "deleted_at",
  "created_at",
  "created_by",
  "requested_by",
  "observed_generation",
  "generation",
];

/** Fields that the operation's body does not have, but its answer or the row behind it does. */
export function foreignFields(operation: OperationId): string[] {
  const schema = bodySchema(operation);
  if (schema === null) return [];
  const own = new Set(Object.keys(resolved(schema).properties ?? {}));
  const answer = responseSchema(operation, successStatus(operation));
  const shown = answer === null ? [] : fieldsOf(answer, 2);
  return [...new Set([...shown, ...internals])].filter((name) => !own.has(name)).sort();
}

/** Whether the body refuses unknown fields. Agents may be newer than the API: their bodies do not. */
export function isClosed(operation: OperationId): boolean {
  const schema = bodySchema(operation);
  return schema !== null && resolved(schema).additionalProperties === false;
}

/** Pointers to the objects inside of a valid body that refuse unknown fields. */
export function closedObjectsIn(operation: OperationId): string[] {
  const schema = bodySchema(operation);
  return Object.entries(resolved(schema ?? {}).properties ?? {})
    .filter(([, property]) => resolved(property).additionalProperties === false)
    .map(([name]) => name);
}

function fieldsOf(schema: JsonSchema, depth: number): string[] {
  const own = resolved(schema);
  const branches = own.oneOf ?? [];
  return [
    ...Object.entries(own.properties ?? {}).flatMap(([name, property]) => [
      name,
      ...(depth > 1 ? fieldsOf(property, depth - 1) : []),
    ]),
    ...branches.flatMap((branch) => fieldsOf(branch, depth)),
  ];
}
