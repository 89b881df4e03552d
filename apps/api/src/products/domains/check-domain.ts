import type { Schemas } from "@kule/contract/schemas";
import { type CheckedAddress, checkZone } from "@kule/dns/check-zone";
import type { Delegation } from "@kule/dns/resolve";
import { compareDelegation } from "@kule/rules/domains/delegation";
import { type DomainStatus, isProven } from "@kule/rules/domains/lifecycle";
import { ownNameServers } from "@kule/rules/domains/ownership-proof";
import { checkProblems, type ServedState, servedState } from "@kule/rules/domains/served-check";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { requireDns } from "./domain-refusals.ts";
import type { DomainDetails, DomainRow } from "./store.ts";

/** As many as the contract shows. */
const mostAddresses = 8;
const mostNames = 20;

/** Asks the domain's name servers what they serve, and its parent's where they delegate it to. */
export async function checkDomain(request: ApiRequest<"checkDomain">, domain: DomainDetails): Promise<Reply> {
  const dns = requireDns(request.deps.dns);
  const found = await checkZone(domain.name, askedServers(dns, domain), dns.resolving);
  const wantedSerial = domain.serial === null ? null : Number(domain.serial);
  const servers = found.nameServers
    .flatMap(({ name, addresses }) =>
      addresses.map((address) => ({
        name: name.slice(0, -1),
        address: address.address,
        state: stateOf(address, wantedSerial),
        serial: address.answers ? address.serial : null,
      })),
    )
    .slice(0, mostAddresses);
  const delegation = compareDelegation(observedOf(found.delegation), domain.name_servers);
  const parentDs = parentDsOf(found.delegation);
  const problems = checkProblems(
    {
      name: domain.name,
      nameServers: domain.name_servers,
      isProven: isProven(domain.status as DomainStatus),
      ds: domain.ds_records,
    },
    { servers, delegation, parentDs },
  );
  const body: Schemas["DomainCheck"] = {
    checked_at: new Date().toISOString(),
    wanted_serial: wantedSerial,
    is_right: problems.length === 0 && servers.every(({ state }) => state === "serves"),
    problems,
    name_servers: servers,
    delegation: {
      state: delegation.state,
      observed: [...delegation.observed].slice(0, mostNames),
      missing: [...delegation.missing].slice(0, mostNames),
      foreign: [...delegation.foreign].slice(0, mostNames),
      ds: [...(parentDs ?? [])].slice(0, mostNames),
    },
  };
  return reply(200, body);
}

/** The domain's name servers with the addresses at which the operator says that they are. */
function askedServers(dns: DnsInstallation, domain: Pick<DomainRow, "name_servers" | "label">) {
  const known = dns.nameServers.map(({ pattern, addresses, port }) => ({
    name: ownNameServers([pattern], domain.label).all[0] ?? "",
    addresses,
    port,
  }));
  // One that the installation had when the domain was added, and has no more, is not asked.
  return known.filter(({ name }) => domain.name_servers.includes(name));
}

function stateOf(address: CheckedAddress, wantedSerial: number | null): ServedState {
  return address.answers ? servedState(address.serial, wantedSerial) : "silent";
}

/** The names that the parent says; null when it could not be asked. */
export function observedOf(delegation: Delegation): readonly string[] | null {
  if (delegation.outcome === "unresolved") return null;
  return delegation.outcome === "delegated" ? delegation.nameServers.map(({ name }) => name) : [];
}

function parentDsOf(delegation: Delegation): readonly string[] | null {
  if (delegation.outcome === "unresolved") return null;
  return delegation.outcome === "delegated" ? delegation.ds : [];
}
