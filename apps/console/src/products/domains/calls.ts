import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import { domains } from "./resource.ts";

const pathOf = ({ id }: Schemas["Domain"]) => ({ domain_id: id });

/** The records of the domain as calls; those on one record set use the first of them. */
export function recordsCalls(
  domain: Schemas["Domain"],
  first: Schemas["RecordSet"] | undefined,
): readonly CalledOperation[] {
  const path = pathOf(domain);
  const { name, type, ttl, values } = first ?? { name: "www", type: "A", ttl: 3600, values: ["192.0.2.10"] };
  const own = { ...path, record_name: name, record_type: type };
  return [
    { operation: "listRecordSets", path },
    { operation: "setRecordSet", path: own, body: { ttl, values } },
    { operation: "changeRecordValues", path: own, body: { add: values } },
    { operation: "deleteRecordSet", path: own },
    {
      operation: "changeRecordSets",
      path,
      body: { changes: [{ op: "upsert", name, type, ttl, values }] },
    },
    { operation: "exportZoneFile", path },
    ...(domain.deletion === null ? [] : removalCalls(domain)),
  ];
}

/** The way out of the removal buffer, either way. */
function removalCalls(domain: Schemas["Domain"]): readonly CalledOperation[] {
  const path = pathOf(domain);
  return [
    { operation: "cancelDomainDeletion", path },
    { operation: "deleteDomain", path, query: { purge: "true" } },
  ];
}

/** The deletion of several record sets in one change. */
export function deletionCalls(
  domain: Schemas["Domain"],
  records: readonly Schemas["RecordSet"][],
): readonly CalledOperation[] {
  const changes = records.map(({ name, type, etag }) => ({ op: "delete", name, type, if_match: etag }));
  return [{ operation: "changeRecordSets", path: pathOf(domain), body: { changes } }];
}

export function importCalls(domain: Schemas["Domain"]): readonly CalledOperation[] {
  const body = { zone_file: "www 300 IN A 192.0.2.10\n", mode: "merge" };
  return [{ operation: "importZoneFile", path: pathOf(domain), query: { dry_run: "true" }, body }];
}

export function delegationCalls(domain: Schemas["Domain"]): readonly CalledOperation[] {
  const path = pathOf(domain);
  return [
    { operation: "verifyDomain", path },
    { operation: "checkDomain", path },
  ];
}

export function dnssecCalls(domain: Schemas["Domain"]): readonly CalledOperation[] {
  const body = domain.dnssec.enabled ? { enabled: false, force: false } : { enabled: true };
  return [{ operation: "setDomainDnssec", path: pathOf(domain), body }];
}

/** The domain's settings, its repair and its deletion as calls. */
export function settingsCalls(domain: Schemas["Domain"]): readonly CalledOperation[] {
  const path = pathOf(domain);
  return [
    ...Object.values(callsOf(domains, domain)),
    { operation: "cancelDomainDeletion", path },
    { operation: "applyDomain", path },
  ];
}
