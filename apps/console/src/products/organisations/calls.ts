import type { CalledOperation } from "../../api-operation.ts";
import type { OrganisationPageProps } from "./props.ts";

/** The calls of one organisation's page, with its own values. */
export function organisationCalls({
  organisation: { id, name, status },
  quotas,
}: OrganisationPageProps): readonly CalledOperation[] {
  const path = { organisation_id: id };
  return [
    {
      operation: "setQuotas",
      path,
      body: { limits: Object.fromEntries(quotas.items.map((quota) => [quota.name, quota.limit])) },
    },
    {
      operation: "updateOrganisation",
      path,
      body: { name, status: status === "suspended" ? "active" : "suspended" },
    },
  ];
}
