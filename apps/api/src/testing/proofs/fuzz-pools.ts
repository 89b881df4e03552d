import type { OperationId } from "@kule/contract/schemas";
import { allPermissions, type CallerRole, permissionsOf } from "@kule/rules/identity/permissions";
import { hostileTexts } from "@kule/testing/contract/hostile-text";
import type { Meaning } from "@kule/testing/contract/valid-values";
import fc from "fast-check";
import { newId } from "../../platform/ids.ts";
import type { ApiCaller } from "../api-caller.ts";
import { recipes } from "./recipes.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

export type FuzzActor = {
  readonly name: string;
  readonly caller: ApiCaller;
  readonly side: Side;
  readonly permissions: ReadonlySet<string>;
  readonly headers: Readonly<Record<string, string>>;
};

export type FuzzPools = {
  readonly all: TwoOrganisations;
  readonly actors: readonly FuzzActor[];
  /** Ids that requests may use up, by path parameter and organisation. */
  own(actor: FuzzActor, operation: OperationId, pick: number): Promise<Readonly<Record<string, string>>>;
};

/** Actors that no request of the fuzz can end: their tokens are in no pool. */
export function fuzzPools(all: TwoOrganisations, spareRegion: string, spareOrganisation: string): FuzzPools {
  const { a, b, callers, regions } = all;
  const actor = (
    name: string,
    caller: ApiCaller,
    role: CallerRole | null,
    side = a,
    headers: FuzzActor["headers"] = {},
  ): FuzzActor => ({
    name,
    caller,
    side,
    headers,
    permissions: new Set<string>(
      role === null
        ? []
        : ["authenticated", ...(caller === callers.session ? ["session"] : []), ...permissionsOf(role)],
    ),
  });
  const actors = [
    actor("nobody", callers.none, null),
    actor("garbage", callers.garbage, null),
    actor("owner of A", a.tenant.callers.owner, "owner"),
    actor("member of A", a.tenant.callers.member, "member"),
    actor("viewer of A", a.tenant.callers.viewer, "viewer"),
    actor("billing of A", a.tenant.callers.billing, "billing"),
    actor("session in A", callers.session, "admin"),
    actor("admin of B", b.tenant.callers.admin, "admin", b),
    actor("operator in A", callers.operator, "operator", a, { "Kule-Organisation": a.tenant.id }),
    actor("agent of A", regions.r1.agent, "agent"),
    actor("agent of B", regions.r2.agent, "agent", b),
  ];
  const used = new Map<string, Readonly<Record<string, string>>[]>();
  return {
    all,
    actors,
    async own(who, operation, pick) {
      if (operation.includes("Region") || operation.includes("AgentToken"))
        return regionIds(all, spareRegion, operation);
      // Nor may random limits make the others' requests fail.
      if (operation === "setQuotas" || /Organisation(ById)?$/.test(operation))
        return { organisation_id: spareOrganisation };
      // A few objects each, used again and again in whatever state the requests before have left them.
      const key = `${operation} ${who.side.tenant.id}`;
      const known = used.get(key) ?? [];
      used.set(key, known);
      const chosen = known[pick % 4];
      if (chosen !== undefined) return chosen;
      const made = (await recipes[operation].path?.(who.side, all)) ?? {};
      known.push(made);
      return made;
    },
  };
}

async function regionIds(all: TwoOrganisations, region: string, operation: OperationId) {
  if (!operation.startsWith("revoke") && !operation.startsWith("rotate")) return { region };
  const minted = await all.world.operator.post(`/regions/${region}/agent-tokens`, { name: "for the fuzz" });
  return { region, token_id: minted.body.token.id as string };
}

/** The meaning of the fields of a body, where the schema cannot express it. */
export function bodyMeaning(operation: OperationId, pools: FuzzPools): Meaning {
  const { a, b } = pools.all;
  const id = (kind: "ssh_key" | "subnet" | "network" | "server" | "firewall") =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(a.standing[kind]) },
      { weight: 1, arbitrary: fc.constantFrom(b.standing[kind], a.removed[kind], newId("srv")) },
      { weight: 1, arbitrary: shortHostile },
    );
  const region = fc.oneof(
    { weight: 5, arbitrary: fc.constant("r1") },
    { weight: 1, arbitrary: fc.constantFrom("r2", a.standing.region, b.standing.region, "nowhere") },
  );
  const words = (...some: string[]) =>
    fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...some) }, { weight: 1, arbitrary: shortHostile });
  const range = (first: number) =>
    fc.record(
      { first: fc.constant(first), last: fc.integer({ min: first - 2, max: first + 20 }) },
      { noNullPrototype: true },
    );
  const meanings: { readonly [place: string]: fc.Arbitrary<unknown> } = {
    "createServer /name": names,
    "createNetwork /name": names,
    "createSubnet /name": names,
    "createReservation /name": names,
    "createReservation /address": fc.constantFrom(
      "10.20.0.9",
      "10.20.0.77",
      "10.20.15.254",
      "10.20.0.1",
      "192.168.1.1",
    ),
    "createGateway /name": names,
    "createGateway /network_id": id("network"),
    "createGateway /subnet_ids/*": id("subnet"),
    "createGateway /public_ip": fc.constantFrom(
      "auto",
      a.standing.public_ip,
      b.standing.public_ip,
      newId("ip"),
    ),
    "createGateway /address": fc.constantFrom("100.96.0.77", "100.97.0.77", "192.0.2.1", "10.20.0.1"),
    "attachGatewaySubnet /subnet_id": id("subnet"),
    "createPortForward /server_id": id("server"),
    "createPortForward /protocol": words("tcp", "udp"),
    "createPortForward /listen_port": fc.integer({ min: 0, max: 70 }),
    "createNetwork /cidr": fc.constantFrom("10.30.0.0/16", "192.168.0.0/20", "172.16.0.0/28", "8.8.8.0/24"),
    "createSubnet /cidr": fc.constantFrom("10.20.7.0/24", "10.20.0.0/16", "10.20.9.0/29", "10.21.0.0/24"),
    // A slug that hostile paths use would make their 404 a hit.
    "createRegion /slug": names,
    "createServer /image": words("ubuntu-24.04", "debian-12", "windows-2022"),
    "createServer /package": words("s", "m", "l", "xxxl"),
    "createServer /region": region,
    "createServer /ssh_key_ids/*": id("ssh_key"),
    "createServer /subnet_id": id("subnet"),
    "createServer /firewall_ids/*": id("firewall"),
    "createServer /private_ip": fc.constantFrom(
      "10.20.0.9",
      "10.20.0.77",
      "10.20.0.0",
      "192.168.1.1",
      "10.20.0.255",
    ),
    "createNetwork /region": region,
    "createSshKey /public_key": fc.oneof(
      fc.integer().map(() => a.tenant.sshKeyBody().public_key),
      fc.constantFrom(
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "ssh-dss AAAA",
        "ssh-rsa AAAAB3NzaC1yc2E=",
        "ssh-ed25519 %%%",
      ),
    ),
    "claimJob /wait_seconds": fc.constant(0),
    "claimConsole /wait_seconds": fc.constant(0),
    "createRegion /vmid_range": range(1000),
    "createRegion /vlan_range": range(100),
    "updateRegion /vmid_range": range(1000),
    "updateRegion /vlan_range": range(100),
    "createRegion /restricted_to": fc.constantFrom<unknown[]>(null, [], [a.tenant.id], [newId("org")], ["x"]),
    "updateRegion /restricted_to": fc.constantFrom<unknown[]>(null, [], [a.tenant.id], [newId("org")], ["x"]),
    "createToken /scopes": fc.uniqueArray(fc.constantFrom(...allPermissions(), "*:*", "server:*", "x:y"), {
      minLength: 1,
      maxLength: 4,
    }),
    "reportStep /epoch": fc.integer({ min: 0, max: 3 }),
  };
  return (pointer) => meanings[`${operation} ${pointer}`];
}

/** Mostly free ones: a used name hides everything behind it. */
const names = fc.nat({ max: 1_000_000 }).map((number) => `fuzz-${number}`);

const shortHostile = fc
  .constantFrom(...hostileTexts)
  .filter((text) => text.length <= 20 && text.isWellFormed() && !text.includes("\0"));
