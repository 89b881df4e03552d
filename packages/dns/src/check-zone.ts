// Delegation and propagation of a zone: what its name servers serve, and what the parent says of them.

import { askNameServer, type NotAnswered, type ServerAddress } from "./ask-name-server.ts";
import { absoluteName } from "./dns-name.ts";
import { type Delegation, findDelegation, type NamedServer, type ResolveSettings } from "./resolve.ts";

export interface ZoneCheck {
  readonly zone: string;
  /** In the order of what was asked for. */
  readonly nameServers: readonly CheckedServer[];
  readonly delegation: Delegation;
  /** Wanted name servers that the parent does not name; null when it is not known what it says. */
  readonly missing: readonly string[] | null;
  /** Name servers that the parent names and nobody wants; null as above. */
  readonly foreign: readonly string[] | null;
}

export interface CheckedServer {
  readonly name: string;
  readonly addresses: readonly CheckedAddress[];
}

/** A name server of the installation: its addresses come from the operator. */
export type WantedServer = NamedServer & {
  /** Default: that of the settings. */
  readonly port?: number;
};

export type CheckedAddress = { readonly address: string } & (
  | { readonly answers: false; readonly problem: NotAnswered["reason"] }
  | {
      readonly answers: true;
      /** False for a server that refuses the zone, or knows it from elsewhere. */
      readonly authoritative: boolean;
      /** `REFUSED`, `NXDOMAIN` … tell why it is not authoritative. */
      readonly code: string;
      /** Null when it is not authoritative, as `nameServers`. */
      readonly serial: number | null;
      /** NS of the apex as this server has them, sorted. */
      readonly nameServers: readonly string[] | null;
    }
);

const MAX_SERVERS = 8;
const MAX_ADDRESSES = 4;

/**
 * Asks each address of the zone's name servers for SOA and NS, and the parent for the delegation. `nameServers` are the
 * wanted ones, at most 8 with 4 addresses each; their addresses come from the operator and may be private.
 *
 * Never throws; takes as long as `settings.deadlineMilliseconds`, or three questions.
 */
export async function checkZone(
  zone: string,
  nameServers: readonly WantedServer[],
  settings: ResolveSettings,
): Promise<ZoneCheck> {
  const name = absoluteName(zone);
  const wanted = [...new Set(nameServers.map((server) => absoluteName(server.name)))];
  const [checked, delegation] = await Promise.all([
    Promise.all(
      nameServers.slice(0, MAX_SERVERS).map(async (server) => ({
        name: absoluteName(server.name),
        addresses: await Promise.all(
          server.addresses.slice(0, MAX_ADDRESSES).map((address) =>
            checkAddress({ address, port: server.port ?? settings.port ?? 53 }, name, settings),
          ),
        ),
      })),
    ),
    findDelegation(name, settings),
  ]);
  const told = delegatedTo(delegation);
  return {
    zone: name,
    nameServers: checked,
    delegation,
    missing: told === null ? null : wanted.filter((each) => !told.includes(each)),
    foreign: told === null ? null : told.filter((each) => !wanted.includes(each)),
  };
}

function delegatedTo(delegation: Delegation): string[] | null {
  if (delegation.outcome === "unresolved") return null;
  return delegation.outcome === "delegated" ? delegation.nameServers.map((server) => server.name) : [];
}

async function checkAddress(
  server: ServerAddress,
  zone: string,
  settings: ResolveSettings,
): Promise<CheckedAddress> {
  const { address } = server;
  const options = { deadlineMilliseconds: settings.questionMilliseconds ?? 2_000 };
  const [soa, ns] = await Promise.all([
    askNameServer(server, { name: zone, type: "SOA" }, options),
    askNameServer(server, { name: zone, type: "NS" }, options),
  ]);
  if (soa.outcome === "not-answered") return { address, answers: false, problem: soa.reason };
  const own = soa.answers.find((each) => each.type === "SOA" && each.name === zone);
  const authoritative = soa.authoritative && soa.code === "NOERROR" && own !== undefined;
  return {
    address,
    answers: true,
    authoritative,
    code: soa.code,
    serial: authoritative ? Number(own.content.split(" ")[2]) : null,
    nameServers:
      authoritative && ns.outcome === "answered"
        ? ns.answers
            .filter((each) => each.type === "NS" && each.name === zone)
            .map((each) => each.content)
            .sort()
        : null,
  };
}
