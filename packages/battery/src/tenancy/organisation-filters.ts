import type { SourcePatch } from "@kule/build/source-patch";
import type { Mutant } from "../row.ts";

/** Only test builds have the tenant guard. Without it a query that lost its filter is as it would be in production. */
export const withoutTenantGuard: SourcePatch = {
  file: "apps/api/src/platform/open-deps.ts",
  find: "guardTenants: settings.testBuild,",
  replace: "guardTenants: false,",
};

/** A query of a product without the condition on its organisation. */
function without(product: string, file: string, find: string, replace = ""): Mutant {
  return {
    name: `no-filter-${product}`,
    removes: `organisation_id in the query of ${product.replaceAll("-", " ")}`,
    patches: [{ file: `apps/api/src/products/${file}`, find, replace }, withoutTenantGuard],
    expects: /foreign.*(expected 404|expected 422|differs from absent)|was shown|read the name of/,
  };
}

/** One for each product: its central query without its filter. */
export const unfilteredProducts: readonly Mutant[] = [
  without("servers", "servers/store.ts", '.where("server.organisation_id", "=", organisationId)'),
  without("networks", "networks/store.ts", '.where("network.organisation_id", "=", organisationId)'),
  without("subnets", "networks/subnet-store.ts", '.where("subnet.organisation_id", "=", organisationId)'),
  without("jobs", "jobs/store.ts", '.where("job.organisation_id", "=", organisationId)'),
  without("members", "members/store.ts", '.where("member.organisation_id", "=", organisationId)'),
  without("tokens", "tokens/store.ts", '.where("token.organisation_id", "=", owner.organisationId)'),
  without(
    "ssh-keys-of-a-server",
    "ssh-keys/store.ts",
    '.selectAll()\n    .where("organisation_id", "=", organisationId)\n    .where("id", "in", [...ids])',
    '.selectAll()\n    .where("id", "in", [...ids])',
  ),
  // Also in the fields that name them: the certificates of a listener.
  without(
    "certificates",
    "certificates/store.ts",
    '\n    .where("certificate.organisation_id", "=", organisationId);',
    ";",
  ),
  without(
    "load-balancers",
    "load-balancers/store.ts",
    '\n    .where("load_balancer.organisation_id", "=", organisationId);',
    ";",
  ),
];
